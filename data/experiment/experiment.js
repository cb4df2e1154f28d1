// Runs the study that study.js describes in the words of texts.js. The same for every study.
"use strict";
const {lists, items} = window.STUDY, texts = window.TEXTS, given = new URLSearchParams(location.search);
const planned = window.RESPONSES || {};  // item_id -> response, for ?simulate=data-only
document.title = texts.title;

const jsPsych = initJsPsych({
  show_progress_bar: true,
  override_safe_mode: true,  // it may be opened from a file
  message_progress_bar: texts.progress,
  on_finish: finished,
});
const numbered = parseInt(given.get("list"), 10);
const list = lists[numbered] ? numbered : jsPsych.randomization.randomInt(0, lists.length - 1);
const participant = jsPsych.randomization.randomID(16);  // never the PROLIFIC_PID, which is not read
jsPsych.data.addProperties({participant, list});

function safe(words) {
  const held = document.createElement("p");
  held.textContent = words;
  return held.innerHTML;
}
const said = (paragraphs) => `<div class="words">${paragraphs.map((each) => `<p>${safe(each)}</p>`).join("")}</div>`;

function buttons(paragraphs, choices, data, response) {
  return {
    type: jsPsychHtmlButtonResponse,
    stimulus: said(paragraphs),
    choices: choices.map(safe),
    button_layout: "flex",
    data,
    save_trial_parameters: {stimulus: false},
    simulation_options: response === undefined ? {} : {data: {response}},
  };
}

function number(item, data, response) {
  const bounded = item.low !== null && item.high !== null;
  const low = item.low ?? 0, high = item.high ?? low + 100, any = low + Math.round(Math.random() * (high - low));
  const hint = (bounded ? texts.number_between : texts.number).replace("{low}", item.low).replace("{high}", item.high);
  return {
    type: jsPsychSurveyText,
    preamble: said([item.question]),
    questions: [{prompt: `<label for="input-0">${safe(hint)}</label>`, name: "answer", required: true}],
    button_label: texts.next,
    data,
    on_load: () => {
      const field = document.querySelector("#input-0");
      if (field) Object.assign(field, {type: "number", step: "any", inputMode: "decimal", min: item.low ?? "", max: item.high ?? ""});
    },
    simulation_options: {data: {response: {answer: String(response ?? any)}}},
  };
}

function coded(code) {
  const back = "https://app.prolific.com/submissions/complete?cc=" + encodeURIComponent(code);
  return code && `${said([`${texts.code_hint} ${code}`])}<a class="jspsych-btn" href="${back}">${safe(texts.back)}</a>`;
}

function question(item_id) {
  const item = items[item_id], data = {item_id}, response = planned[item_id];
  return item.choices.length ? buttons([item.question], item.choices, data, response) : number(item, data, response);
}

const right = texts.check.choices.indexOf(texts.check.right);
const check = buttons([texts.check.question], texts.check.choices, {check: true}, right);
const consent = buttons(texts.consent, [texts.agree, texts.refuse], {}, 0);
consent.on_finish = (data) => { if (data.response) jsPsych.abortExperiment(said(texts.refused)); };
let tries = 2;
const understood = texts.comprehension.map(({question: asked, choices, right: answer}) => {
  const place = choices.indexOf(answer);
  return buttons([asked], choices, {understood: place}, place);
});
const instructions = {
  timeline: [buttons(texts.instructions, [texts.next], {}), ...understood],
  loop_function: (data) => {
    const wrong = data.filterCustom(({understood: place, response}) => place !== undefined && place !== response);
    if (wrong.count() && --tries) return true;
    if (wrong.count()) jsPsych.abortExperiment(said(texts.not_understood) + coded(texts.code_if_not_understood));
    return false;
  },
};
const questions = jsPsych.randomization.shuffle(lists[list]).map(question);
questions.splice(Math.ceil(questions.length / 2), 0, check);

async function sent(csv) {
  if (!texts.post_to) return false;
  const posted = {method: "POST", headers: {"Content-Type": "text/csv"}, body: csv};
  return fetch(texts.post_to, posted).then((reply) => reply.ok, () => false);
}

async function finished(all) {
  const failed = all.filter({check: true}).filterCustom((trial) => trial.response !== right).count();
  jsPsych.data.addProperties({attention: failed ? "failed" : "passed"});
  const rows = all.filterCustom((trial) => trial.item_id || trial.check);
  if (!rows.filter({check: true}).count()) return;  // who did not agree
  const place = jsPsych.getDisplayElement(), done = await sent(rows.csv());
  const words = [...texts.completion];
  if (!done) words.push(...(texts.post_to ? [texts.not_sent] : []), texts.save_hint);
  const code = (failed && texts.code_if_check_failed) || texts.completion_code;
  const save = done ? "" : `<button class="jspsych-btn" id="save">${safe(texts.save)}</button>`;
  place.innerHTML = `<div id="jspsych-content" class="jspsych-content">${said(words)}${save}${coded(code)}</div>`;
  const button = place.querySelector("#save");
  if (button) button.onclick = () => rows.localSave("csv", `answers_${participant}.csv`);
}

const timeline = [consent, instructions, ...questions];
if (given.has("simulate")) jsPsych.simulate(timeline, given.get("simulate"));
else jsPsych.run(timeline);
