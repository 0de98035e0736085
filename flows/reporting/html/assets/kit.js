"use strict";
// What the other scripts stand on: the page's data, its words, and elements made without HTML.

const data = JSON.parse(document.getElementById("data").textContent);
const methods = data.board.map((row) => row.method);

/** A text of the catalogue with values in it. */
function word(key, values = {}) {
  return (data.words[key] ?? key).replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** An element. Attributes whose value is null are left out; children are nodes or texts, never HTML. */
function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

/** An element of a drawing. */
function svg(name, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/** The beginning of a text, without half a word at its end. */
const beginning = (text, most = 200) => (text.length <= most ? text : `${text.slice(0, most).replace(/\s+\S*$/, "")} …`);

/** A name or text of others, so that its direction stays its own. */
const bdi = (text) => el("bdi", { dir: "auto" }, text);

/** What a method is called, and its parameters in brackets with all that sets it apart. */
function partedName(name) {
  const at = name.search(/[([]/);
  return at > 0 ? [name.slice(0, at), name.slice(at)] : [name, ""];
}

/** A method's name, its parameters in grey. */
function methodName(name) {
  const [head, rest] = partedName(name);
  return el("bdi", {}, head, rest ? el("small", { class: "params" }, rest) : null);
}

const missing = "–";
const fixed = (value, digits = 2) => (value === null || value === undefined ? missing : value.toFixed(digits));
const signed = (value) => (value === null || value === undefined ? missing : (value < 0 ? "" : "+") + value.toFixed(2));
const whole = (value) =>
  value === null || value === undefined ? missing : Math.round(value).toLocaleString("en-US");

/** A cell of a table that sorts and copies by its value. */
function cell(value, shown) {
  return el("td", { class: "n", "data-v": value ?? "" }, shown);
}

function link(...parts) {
  return "#/" + parts.map((part) => encodeURIComponent(part)).join("/");
}

const opened = new Map();

/** Packed data of the page by id: a promise; null where the page has none. */
function unpack(id) {
  if (!opened.has(id)) {
    const found = [...document.querySelectorAll("script.pack")].find((node) => node.dataset.pack === id);
    opened.set(id, found ? inflate(found.textContent) : Promise.resolve(null));
  }
  return opened.get(id);
}

/** Data that the server of a live page has: a promise; null where it has none. */
async function ask(name, values = {}) {
  const given = new URLSearchParams({ ...values, judge: data.judge });
  const answer = await fetch(`data/${name}?${given}`);
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
