// The answers behind the numbers: filters, a list of prompts, and a prompt with all that belongs to it.
// Data are scripts beside this page that call cogbias(name, data); the address after # holds the filters.
"use strict";

const SHOWN = 50; // rows at a time
const FIRST = ["condition", "cluster", "status"]; // filters that are not folded
const KEYS = ["paradigm", "participant", "with", "item", "rows", "sort"]; // of the address; all others filter
const loaded = {}, arrives = {};

function cogbias(name, content) {
  arrives[name](content);
}

function load(name) {
  loaded[name] ??= new Promise((resolve) => {
    arrives[name] = resolve;
    const script = document.createElement("script");
    script.src = `answers/${name}.js`;
    document.head.append(script);
  });
  return loaded[name];
}

const at = (column, row) => (column.codes[row] < 0 ? "" : column.levels[column.codes[row]]);
const plain = (name) => name.replaceAll("_", " ");
const percent = (share) => (share > 0 && share < 0.01 ? "<1%" : `${Math.round(100 * share)}%`);
const named = ({participant, mark}) => (mark ? `${participant} (${mark})` : participant);
const state = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

function address(changes) {
  const next = {...state(), ...changes};
  const kept = Object.entries(next).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return `#${new URLSearchParams(kept)}`;
}

function go(changes) {
  location.hash = address(changes);
}

// ---- what is chosen

function chooser(label, key, levels, value, any) {
  const options = levels.map(([id, words]) => make("option", {value: id, selected: id === value}, words));
  if (any) options.unshift(make("option", {value: ""}, any));
  const box = make("select", {id: `of-${key}`}, options);
  const away = {rows: null, item: null};
  if (key === "paradigm")
    for (const each of Object.keys(state())) if (!["paradigm", "participant", "with"].includes(each)) away[each] = null;
  box.addEventListener("change", () => go({...away, [key]: box.value}));
  return make("label", {}, label, box);
}

// Rows of a cell joined with their items: a code and its levels per column that can be filtered by.
function columnsOf(items, cell) {
  const columns = {};
  for (const [name, column] of Object.entries(items.columns))
    columns[name] = {levels: column.levels, codes: cell.item.map((item) => column.codes[item])};
  return {...columns, answer: cell.columns.answer, status: cell.columns.status};
}

// From the numbers of items in one list to those in another; undefined: not in it.
function renumbered(from, to) {
  const numbers = new Map(to.id.map((id, number) => [id, number]));
  return (item) => numbers.get(from.id[item]);
}

function matching(columns, cell, chosen) {
  let kept = Array.from({length: cell.item.length}, (_, row) => row);
  for (const [key, value] of Object.entries(chosen)) {
    if (KEYS.includes(key) || !columns[key]) continue;
    const {levels, codes} = columns[key];
    const wanted = new Set();
    levels.forEach((level, code) => {
      if (key === "status" ? level.split(", ").includes(value) : level === value) wanted.add(code);
    });
    kept = kept.filter((row) => wanted.has(codes[row]));
  }
  const {number} = cell, up = chosen.sort === "up" ? 1 : -1;
  if (chosen.sort) kept.sort((a, b) => (number[a] === null) - (number[b] === null) || up * (number[a] - number[b]));
  return kept;
}

function filters(columns, chosen) {
  const made = [];
  for (const [name, column] of Object.entries(columns)) {
    if (name === "answer") continue;
    const levels = name === "status" ? [...new Set(column.levels.flatMap((each) => each.split(", ")))] : [...column.levels];
    levels.sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
    if (levels.length > 1 || chosen[name])
      made.push([name, chooser(plain(name), name, levels.map((each) => [each, each]), chosen[name], "all")]);
  }
  const first = made.filter(([name]) => FIRST.includes(name) || chosen[name]);
  const more = made.filter(([name]) => !FIRST.includes(name) && !chosen[name]);
  const box = (each) => each.map(([, select]) => select);
  first.push(["sort", chooser("sorted by", "sort", [["down", "answer, highest first"], ["up", "answer, lowest first"]], chosen.sort, "prompt")]);
  return [...box(first), more.length ? make("details", {}, make("summary", {}, "More filters"), make("div", {class: "choosers"}, box(more))) : ""];
}

// ---- the list

function listOf(found, chosen) {
  const {entry, items, cell, columns, second, other, kept} = found;
  const factors = Object.keys(items.columns).filter((name) => new Set(kept.map((row) => columns[name].codes[row])).size > 1);
  const wide = factors.filter((name) => !["condition", "cluster"].includes(name));
  const told = ["is_published", "option_order", "target_position", "variant", "template", "premise_order"];
  const shownFactors = ["condition", "cluster", ...told.filter((name) => wide.includes(name)).slice(0, 2)];
  const place = other && new Map(other.item.map((item, row) => [item, row]));
  const answerOf = (row) => at(columns.answer, row) || "not readable";
  const otherOf = (row) => {
    const same = place.get(cell.item[row]);
    return same === undefined ? "not asked" : at(other.columns.answer, same) || "not readable";
  };
  const head = ["prompt", ...shownFactors.map(plain), "answer", ...(other ? [`answer of ${named(second)}`] : []), "readable", "status"];
  const line = (row) => [
    cell.item[row] + 1,
    ...shownFactors.map((name) => at(columns[name], row)),
    answerOf(row),
    ...(other ? [otherOf(row)] : []),
    `${cell.readable[row]} of ${cell.asked[row]}`,
    plain(at(columns.status, row)),
  ];
  const count = Math.min(kept.length, Math.max(SHOWN, Number(chosen.rows) || SHOWN));
  const body = kept.slice(0, count).map((row) => {
    const [number, ...rest] = line(row);
    const open = chosen.item === items.id[cell.item[row]];
    return make(
      "tr",
      {class: open ? "open" : null},
      make("th", {scope: "row"}, make("a", {id: items.id[cell.item[row]], href: address({item: items.id[cell.item[row]]})}, `prompt ${number}`)),
      rest.map((value) => make("td", {}, String(value))),
    );
  });
  const asked = kept.reduce((sum, row) => sum + cell.asked[row], 0);
  const readable = kept.reduce((sum, row) => sum + cell.readable[row], 0);
  const all = Object.keys(items.columns), file = `${chosen.participant} ${chosen.paradigm}`;
  const first = (row) => [items.id[cell.item[row]], ...all.map((name) => at(columns[name], row))];
  const rows = () => [
    ["item_id", ...all, "answer", "number", ...(other ? ["answer_of_other"] : []), "asked", "readable", "status"],
    ...kept.map((row) => [
      ...first(row),
      at(columns.answer, row),
      cell.number[row],
      ...(other ? [otherOf(row)] : []),
      cell.asked[row],
      cell.readable[row],
      at(columns.status, row),
    ]),
  ];
  const prompts = async () => {
    const {system, prompt, options} = await load(`prompts-${entry.list}`);
    const texts = (row) => [at(system, cell.item[row]), prompt[cell.item[row]], at(options, cell.item[row])];
    return [["item_id", ...all, "system", "prompt", "options"], ...kept.map((row) => [...first(row), ...texts(row)])];
  };
  const given = async () => {
    const {texts} = await load(`texts-${entry.cell}`);
    const told = ["times", "status", "choice", "role", "value", "detail", "stored", "response", "thinking"];
    const each = (row) => texts[row].said.map((said) => [...first(row), ...told.map((name) => said[name]), JSON.stringify(texts[row].shares)]);
    return [["item_id", ...all, ...told, "distribution"], ...kept.flatMap(each)];
  };
  return [
    make("p", {id: "count", role: "status"}, `${kept.length.toLocaleString("en")} of ${cell.item.length.toLocaleString("en")} ${chosen.participant.startsWith("people/") ? "questions to people" : "prompts"}; ${readable.toLocaleString("en")} of ${asked.toLocaleString("en")} answers readable.`),
    make(
      "div",
      {class: "scroll"},
      make("table", {class: "prompts"}, make("caption", {class: "visually-hidden"}, `Prompts and answers: ${named(entry)}`), make("thead", {}, make("tr", {}, head.map((each) => make("th", {scope: "col"}, each)))), make("tbody", {}, body)),
    ),
    make(
      "p",
      {class: "actions"},
      count < kept.length ? make("a", {id: "more", href: address({rows: count + 4 * SHOWN})}, `Show ${Math.min(4 * SHOWN, kept.length - count)} more`) : null,
      saves("Download these rows (CSV)", `${file}.csv`, rows),
      saves("their prompts (CSV)", `${file} prompts.csv`, prompts),
      saves("every answer (CSV)", `${file} answers.csv`, given),
    ),
  ];
}

// ---- one prompt

const pieces = (text) => text.match(/\s+|[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) || [];

// A text with the words marked that another text does not have at this point (longest common run).
function differing(text, other) {
  const mine = pieces(text), theirs = pieces(other);
  if (!other || mine.length * theirs.length > 4e6) return [text];
  const length = Array.from({length: mine.length + 1}, () => new Uint16Array(theirs.length + 1));
  for (let i = mine.length - 1; i >= 0; i--)
    for (let j = theirs.length - 1; j >= 0; j--)
      length[i][j] = mine[i] === theirs[j] ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
  const parts = [];
  let i = 0, j = 0, marked = "", same = "";
  const flush = () => {
    if (same) parts.push(same);
    if (marked.trim()) parts.push(make("mark", {}, marked));
    else if (marked) parts.push(marked);
    marked = same = "";
  };
  while (i < mine.length) {
    if (j < theirs.length && mine[i] === theirs[j]) {
      if (marked) flush();
      same += mine[i];
      i++;
      j++;
    } else if (j < theirs.length && length[i][j + 1] > length[i + 1][j]) j++;
    else {
      if (same) flush();
      marked += mine[i++];
    }
  }
  flush();
  return parts;
}

// A response with the words marked by which it was read.
function deciding({response, decided}) {
  if (!decided) return [response];
  const [from, to] = decided, signs = [...response];
  return [signs.slice(0, from).join(""), make("mark", {}, signs.slice(from, to).join("")), signs.slice(to).join("")];
}

function readAs(said) {
  const option = said.role && said.role !== said.choice ? `${plain(said.role)} (${said.choice})` : said.choice;
  const what = said.status === "ok" ? option ?? said.value ?? "a distribution" : plain(said.status);
  const words = [`read: ${what}`];
  if (said.stored !== undefined) words.unshift(`stored: ${said.stored}`);
  if (said.detail && said.status !== "ok") words.push(said.detail);
  return words.join(", ");
}

function bars(shares, options) {
  const known = Object.entries(shares);
  if (!known.length) return null;
  const top = known.length > 12 ? [...known].sort((a, b) => b[1] - a[1]).slice(0, 12) : known;
  const rows = top.map(([label, share]) => {
    const option = options.find((each) => each.label === label) || {};
    const bar = make("span", {class: "bar"}, make("i"));
    bar.firstChild.style.width = `${100 * share}%`;
    const words = [label, option.text && option.text !== label ? ` ${option.text}` : "", option.role && option.role !== label ? make("small", {}, ` ${plain(option.role)}`) : ""];
    return make("tr", {}, make("th", {scope: "row"}, words), make("td", {}, bar), make("td", {class: "number"}, percent(share)));
  });
  if (top.length < known.length) rows.push(make("tr", {}, make("td", {colspan: 3}, `and ${known.length - top.length} options with less`)));
  return make("table", {class: "shares"}, make("tbody", {}, rows));
}

function answersTo(item, who, cell, texts, options) {
  const row = cell.item.indexOf(item);
  if (row < 0) return make("div", {class: "answers"}, make("h4", {}, who), make("p", {}, "not asked"));
  const {shares, said} = texts.texts[row];
  const raw = said.filter((each) => each.response || each.status !== "ok" || each.stored !== undefined || each.value !== undefined);
  raw.sort((a, b) => b.times - a.times);
  const told = raw.map((each) =>
    make(
      "div",
      {class: "said"},
      each.response ? make("pre", {}, deciding(each)) : null,
      make("p", {class: "key"}, `${each.times > 1 ? `${each.times} times; ` : ""}${readAs(each)}`),
      each.thinking ? make("details", {}, make("summary", {}, "Reasoning"), make("pre", {}, each.thinking)) : null,
    ),
  );
  const first = told.slice(0, 3), rest = told.slice(3);
  return make(
    "div",
    {class: "answers"},
    make("h4", {}, who),
    bars(shares, options),
    first,
    rest.length ? make("details", {}, make("summary", {}, `${rest.length} other answer${rest.length > 1 ? "s" : ""}`), rest) : null,
  );
}

async function prompt(found, chosen) {
  const {items, entry, cell, second} = found;
  const item = items.id.indexOf(chosen.item);
  if (item < 0) return [make("p", {}, "There is no such prompt here.")];
  const prompts = await load(`prompts-${entry.list}`);
  const texts = await load(`texts-${entry.cell}`);
  const others = second && (await load(`texts-${second.cell}`));
  const family = items.family.flatMap((each, index) => (each === items.family[item] ? [index] : []));
  const {condition, ...rest} = items.columns;
  const relatives = family.filter((each) => each !== item);
  const partner = relatives.find((each) => items.pair[each] === items.pair[item]) ?? relatives[0];
  const shown = [item, partner, ...relatives.filter((each) => each !== partner)].filter((each) => each !== undefined).slice(0, 8);
  const varying = Object.keys(rest).filter((name) => new Set(shown.map((each) => at(rest[name], each))).size > 1);
  const cards = shown.map((each) => {
    const options = JSON.parse(at(prompts.options, each) || "[]");
    const compared = each === item ? prompts.prompt[partner] || "" : prompts.prompt[item];
    const system = at(prompts.system, each);
    return make(
      "article",
      {class: each === item ? "open" : null},
      make("h3", {}, `Prompt ${each + 1}: ${at(condition, each)}`),
      varying.length ? make("p", {class: "key"}, varying.map((name) => `${plain(name)} ${at(rest[name], each)}`).join(", ")) : null,
      system ? make("pre", {class: "system"}, system) : null,
      make("pre", {}, differing(prompts.prompt[each], compared)),
      answersTo(each, named(entry), cell, texts, options),
      second ? answersTo(each, named(second), found.other, others, options) : null,
    );
  });
  const words = cards.length > 1 ? "Its conditions and orders side by side; words that differ are marked. " : "";
  const more = family.length > shown.length ? `${shown.length} of ${family.length} prompts of this question are shown. ` : "";
  return [
    make("h2", {tabindex: -1}, `Prompt ${item + 1}`),
    make("p", {class: "key"}, words, more, `Item ${chosen.item}. `, make("a", {href: address({item: null})}, "Close")),
    make("div", {class: "cards"}, cards),
  ];
}

// ---- the page

let opened = null;

// What a keyboard was on is made anew, and would be lost.
function refocus(id) {
  if (id && document.activeElement === document.body) document.getElementById(id)?.focus();
}

async function render() {
  const focused = document.activeElement?.id;
  const cells = await load("index"), chosen = state();
  const names = [...new Map(cells.map((each) => [each.paradigm, each.title]))];
  const entry = cells.find((each) => each.paradigm === chosen.paradigm && each.participant === chosen.participant);
  const people = cells.filter((each) => each.paradigm === chosen.paradigm);
  const called = people.map((each) => [each.participant, named(each)]);
  const choosers = [
    chooser("Paradigm", "paradigm", names, chosen.paradigm, "choose one"),
    chooser("Participant", "participant", called, chosen.participant, chosen.paradigm ? "choose one" : "choose a paradigm first"),
  ];
  const [choice, filter, panel, list] = ["choice", "filters", "prompt", "rows"].map((id) => document.getElementById(id));
  if (!entry) {
    choice.replaceChildren(...choosers);
    refocus(focused);
    [filter, panel, list].forEach((each) => each.replaceChildren());
    return;
  }
  const mates = called.filter(([who]) => who !== chosen.participant);
  const second = people.find((each) => each.participant === chosen.with);
  choosers.push(chooser("Compared with", "with", mates, chosen.with, "nobody"));
  const [items, cell, theirs, asked] = await Promise.all([
    load(`items-${entry.list}`),
    load(`cell-${entry.cell}`),
    second && load(`items-${second.list}`),
    second && load(`cell-${second.cell}`),
  ]);
  const other = second && {...asked, item: asked.item.map(renumbered(theirs, items))};
  const columns = columnsOf(items, cell);
  const found = {entry, second, items, cell, other, columns, kept: matching(columns, cell, chosen)};
  choice.replaceChildren(...choosers, ...(entry.report ? [make("a", {href: entry.report}, "Report")] : []));
  filter.replaceChildren(...filters(columns, chosen));
  panel.replaceChildren(...(chosen.item ? await prompt(found, chosen) : []));
  list.replaceChildren(...listOf(found, chosen));
  if (second && !cell.item.some((item) => other.item.includes(item))) panel.prepend(make("p", {}, `${chosen.with} was given other prompts, so the two cannot be compared prompt by prompt.`));
  if (chosen.item && chosen.item !== opened) {
    panel.scrollIntoView();
    panel.querySelector("h2")?.focus({preventScroll: true});
  } else refocus(chosen.item ? focused : opened || focused); // of a prompt that was closed: its row
  opened = chosen.item;
  dispatchEvent(new Event("resize")); // boxes that scroll say so
}

addEventListener("hashchange", render);
addEventListener("DOMContentLoaded", () => {
  document.getElementById("explorer").hidden = false;
  render();
});
