// Marks boxes that are wider than the page, and searches the pages listed in pages.js.
"use strict";

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
  document.querySelectorAll(".scroll, section").forEach(cue);
}

function item(page, words) {
  const made = document.createElement("li"), link = document.createElement("a");
  const at = Math.max(0, page.text.toLowerCase().indexOf(words[0]) - 60);
  link.href = page.address;
  link.textContent = page.title;
  made.append(link, ` … ${page.text.slice(at, at + 180)} …`);
  return made;
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
