// A box that is wider than the page says so in words, and can be scrolled from the keyboard.
"use strict";

const SCROLLING =
  ".scroll, .formula, .text_html, .pst-scrollable-table-container, .bd-article p:has(math)";

function cue(box) {
  let words = box.previousElementSibling;
  if (!words || !words.matches(".scroll-cue")) {
    words = document.createElement("p");
    words.className = "scroll-cue";
    words.textContent = "wider than the page: scroll sideways →";
    box.before(words);
  }
  const wider = box.scrollWidth > box.clientWidth + 1;
  words.hidden = !wider;
  if (wider) box.tabIndex = 0;
  else box.removeAttribute("tabindex");
}

function cues() {
  document.querySelectorAll(SCROLLING).forEach(cue);
}

addEventListener("DOMContentLoaded", cues);
addEventListener("load", cues);
addEventListener("resize", cues);
