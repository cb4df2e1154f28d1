// Marks boxes that are wider than the page, saves tables and figures, and searches pages.js.
"use strict";

// Texts of strangers become text nodes, never markup.
function make(tag, attributes, ...inner) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  made.append(...inner.flat().filter((each) => each !== null && each !== undefined && each !== ""));
  return made;
}

function csv(rows) {
  const quoted = (value) => {
    let text = String(value ?? "");
    if (/^[=+@\t\r]|^-(?![\d.])/.test(text)) text = `'${text}`; // a spreadsheet must not run it
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(quoted).join(",")).join("\n") + "\n";
}

// A button that saves rows, which may arrive later, the first of which is the head.
function saves(words, file, rows) {
  const button = make("button", {type: "button"}, words);
  button.addEventListener("click", async () => {
    const url = URL.createObjectURL(new Blob([csv(await rows())], {type: "text/csv"}));
    make("a", {href: url, download: file.replace(/[^\w.-]+/g, "-")}).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  });
  return button;
}

// Tables and figures of reports are part of the page: each is saved as it is shown.
function offer() {
  document.querySelectorAll("section table, section img").forEach((shown, number) => {
    const name = `${document.title} ${number + 1}`, box = make("p", {class: "key save"});
    const rows = () => [...shown.rows].map((row) => [...row.cells].map((cell) => cell.innerText.replace(/\u2212(?=\d)/g, "-")));
    if (shown.matches("table")) box.append(saves("Save this table (CSV)", `${name}.csv`, rows));
    else box.append(make("a", {href: shown.src, download: `${name}.${shown.src.includes("svg") ? "svg" : "png"}`}, "Save this figure"));
    shown.after(box);
  });
}

function cue(box) {
  let words = box.previousElementSibling;
  if (!words || !words.matches(".scroll-cue")) {
    words = make("p", {class: "scroll-cue"}, "wider than the page: scroll sideways →");
    box.before(words);
  }
  const wider = box.scrollWidth > box.clientWidth + 1;
  words.hidden = !wider;
  const named = {tabindex: 0, role: "region", "aria-label": box.querySelector("caption")?.innerText || "wider than the page"};
  for (const [name, value] of Object.entries(named)) wider ? box.setAttribute(name, value) : box.removeAttribute(name);
}

function cues() {
  document.querySelectorAll("section div:has(> table), .scroll, section").forEach(cue);
}

function item(page, words) {
  const at = Math.max(0, page.text.toLowerCase().indexOf(words[0]) - 60);
  return make("li", {}, make("a", {href: page.address}, page.title), ` … ${page.text.slice(at, at + 180)} …`);
}

function search() {
  const query = new URLSearchParams(location.search).get("q") || "";
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (typeof PAGES === "undefined" || !words.length) return;
  const found = PAGES.filter((page) => {
    const text = `${page.title} ${page.text}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  document.querySelector("input[type=search]").value = query;
  document.querySelector("#count").textContent = `${found.length} pages found`;
  document.querySelector("#found").replaceChildren(...found.map((page) => item(page, words)));
}

addEventListener("load", cues);
addEventListener("resize", cues);
addEventListener("DOMContentLoaded", search);
addEventListener("DOMContentLoaded", offer);

// On paper nothing is folded.
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not([open])")) each.open = each.folded = true;
});
addEventListener("afterprint", () => {
  for (const each of document.querySelectorAll("details")) if (each.folded) each.open = each.folded = false;
});
