// Faults of the page as it is shown now. Contrast after WCAG 2.1, 1.4.3: 4.5 for text, 3 for large.
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
canvas.canvas.width = canvas.canvas.height = 1;
const colours = new Map(), grounds = new Map();
function rgba(colour) {  // any CSS colour as four numbers
  if (!colours.has(colour)) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    colours.set(colour, [r, g, b, a / 255]);
  }
  return colours.get(colour);
}
const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
function ground(element) {  // the colour behind the text of an element
  if (!element) return [255, 255, 255, 1];
  if (!grounds.has(element))
    grounds.set(element, over(rgba(getComputedStyle(element).backgroundColor), ground(element.parentElement)));
  return grounds.get(element);
}
function luminance(colour) {
  const [r, g, b] = colour.slice(0, 3).map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
}
function contrast(text, behind) {
  const [high, low] = [luminance(text), luminance(behind)].sort((a, b) => b - a);
  return (high + .05) / (low + .05);
}
const seen = element => element.checkVisibility({opacityProperty: true, visibilityProperty: true});
const name = element => element.tagName.toLowerCase() + [...element.classList].map(c => "." + c).join("");
document.head.insertAdjacentHTML("beforeend", "<style>* { transition: none !important; animation: none !important; }</style>");
const faults = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const words = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
  if (!words || !seen(element) || element.closest("script, style, svg, math, noscript")) continue;
  const style = getComputedStyle(element), behind = ground(element);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  const found = contrast(over(rgba(style.color), behind), behind);
  if (found < (large ? 3 : 4.5))
    faults.push(`contrast ${found.toFixed(1)}: ${words.slice(0, 40)} (${name(element)})`);
}
for (const element of document.querySelectorAll("body *")) {
  if (!seen(element) || element.scrollWidth <= element.clientWidth + 1 || !element.clientWidth) continue;
  const flow = getComputedStyle(element).overflowX, box = element.getBoundingClientRect();
  if (box.width < 3 || element.closest("svg, math, .visually-hidden, .skip-link")) continue;
  if (flow === "hidden" || flow === "clip")
    faults.push(`cut: ${name(element)} shows ${element.clientWidth} of ${element.scrollWidth} pixels`);
  if (flow === "auto" || flow === "scroll") {
    const cue = element.previousElementSibling;
    if (!(cue && cue.matches(".scroll-cue") && seen(cue) && element.tabIndex === 0))
      faults.push(`scrolls without a cue: ${name(element)} shows ${element.clientWidth} of ${element.scrollWidth} pixels`);
    else if (innerWidth >= 1280 && element.querySelector("table"))
      faults.push(`a table wider than the page: ${name(element)}, ${element.scrollWidth} pixels`);
  }
}
for (const cell of document.querySelectorAll("section td, section th")) {
  const walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), range = document.createRange();
  while (seen(cell) && walk.nextNode()) {
    for (const word of walk.currentNode.data.matchAll(/[\w.\u2212+]{2,24}/g)) {
      range.setStart(walk.currentNode, word.index);
      range.setEnd(walk.currentNode, word.index + word[0].length);
      const lines = [...range.getClientRects()].filter(each => each.width).map(each => Math.round(each.top));
      if (new Set(lines).size > 1) faults.push(`a broken word: ${word[0]} (${name(cell)})`);
    }
  }
}
if (document.documentElement.scrollWidth > innerWidth + 1)
  faults.push(`the page scrolls sideways: ${document.documentElement.scrollWidth} of ${innerWidth} pixels`);
return faults;
