// Keys, focus and announcements. Every page works without this file; it only makes the same
// buttons and links faster. No eval, no inline handlers, no state kept in the browser.
import { install, uninstall, eventToHotkeyString } from "./vendor/hotkey.js";

const main = () => document.getElementById("main");
const status = () => document.getElementById("status");
const keysAreOn = () => document.documentElement.dataset.keys !== "off";
const isTyping = (node) => node instanceof Element && node.matches("input, textarea, select, [contenteditable]");
const announce = (text) => { status().textContent = text; };

// ---------- keys: each belongs to a real button, link or field, and shows on it ----------
const keyed = (root) => root.querySelectorAll("[data-hotkey]");

function installKeys(root) {
  if (keysAreOn()) keyed(root).forEach((element) => install(element));
}

function uninstallKeys(root) {
  keyed(root).forEach((element) => uninstall(element));
}

// ---------- verbs that are not possible stay in reach and say why ----------
document.addEventListener("click", (event) => {
  const button = event.target.closest("[aria-disabled=true]");
  if (!button) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const why = document.getElementById(button.getAttribute("aria-describedby"));
  const failing = why ? [...why.querySelectorAll(".is-no")].map((item) => item.innerText.trim()) : [];
  announce(failing.join(". "));
  button.focus();
}, true);

// A verb that still needs something: the key leads to the empty field instead of a refusal.
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-needs]");
  const field = button && document.getElementById(button.dataset.needs);
  if (!field || field.value) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  field.focus();
  announce(button.dataset.ask);
}, true);

// In that field Enter records, and a digit chooses from a list.
document.addEventListener("keydown", (event) => {
  const field = event.target;
  const button = field.id && document.querySelector(`button[data-needs="${field.id}"]`);
  if (!button) return;
  const choice = keysAreOn() && field.options && /^[1-9]$/.test(event.key) && field.options[event.key];
  if (choice) choice.selected = true;
  else if (event.key === "Enter") button.click();
  else return;
  event.preventDefault();
});

// ---------- lists: j and k move, Enter opens, the row that is here is marked ----------
const rows = () => [...document.querySelectorAll("[data-list] [data-row]")];
const here = () => rows().findIndex((row) => row.classList.contains("is-here"));

function moveTo(index) {
  const all = rows();
  if (!all.length) return;
  const next = all[Math.min(Math.max(index, 0), all.length - 1)];
  all.forEach((row) => row.classList.toggle("is-here", row === next));
  next.querySelector("a").focus();
}

// Enter belongs to what has the focus; only where nothing has it, it opens the row or starts.
function start() {
  const row = rows()[Math.max(here(), 0)];
  const link = row ? row.querySelector("a") : document.querySelector("[data-start]");
  if (link) link.click();
}

// Escape leaves a field, so that the keys act again.
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isTyping(event.target) && !event.target.closest("dialog")) event.target.blur();
});

document.addEventListener("keydown", (event) => {
  if (!keysAreOn() || event.defaultPrevented || isTyping(event.target)) return;
  const key = eventToHotkeyString(event);
  if (key === "j" && rows().length) moveTo(here() + 1);
  else if (key === "k" && rows().length) moveTo(here() - 1);
  else if (key === "Enter" && event.target === document.body) start();
  else return;
  event.preventDefault();
});

// Focus that arrives in a row by Tab marks the row too, so that j and k go on from there.
document.addEventListener("focusin", (event) => {
  const row = event.target.closest("[data-list] [data-row]");
  if (row) rows().forEach((other) => other.classList.toggle("is-here", other === row));
});

// ---------- the key sheet, made from the buttons that are on the page ----------
function labelOf(element) {
  if (element.ariaLabel) return element.ariaLabel;
  const copy = (element.labels && element.labels[0] || element).cloneNode(true);
  copy.querySelectorAll("kbd, svg, .mh-num, [data-state]").forEach((part) => part.remove());
  return copy.textContent.replace(/\s+/g, " ").trim();
}

function showKeys() {
  const sheet = document.getElementById("keys");
  const list = sheet.querySelector("dl");
  list.replaceChildren();
  const add = (key, text) => {
    const term = document.createElement("dt");
    const kbd = document.createElement("kbd");
    const meaning = document.createElement("dd");
    kbd.textContent = key;
    meaning.textContent = text;
    term.append(kbd);
    list.append(term, meaning);
  };
  keyed(document).forEach((element) => {
    const shown = element.querySelector("kbd");
    add(shown ? shown.textContent : element.dataset.hotkey, labelOf(element));
  });
  document.querySelectorAll("[data-key-help]").forEach((hint) => add(hint.dataset.key, hint.dataset.keyHelp));
  sheet.showModal();
}

// ---------- open menus close when focus or the pointer leaves them ----------
document.addEventListener("click", (event) => {
  document.querySelectorAll("details.mh-dd[open]").forEach((menu) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest && event.target.closest("details.mh-dd[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});

// ---------- focus after a swap: a refusal's heading, else the page's heading ----------
document.addEventListener("htmx:beforeSwap", (event) => uninstallKeys(event.detail.target));
document.addEventListener("htmx:afterSwap", (event) => {
  const target = event.detail.target;
  if (target.id !== "main") return;
  const heading = main().querySelector("[data-focus]") || main().querySelector("h1");
  window.scrollTo(0, 0);
  if (heading) heading.focus();
  if (isTyping(heading)) heading.scrollIntoView({ block: "center" });
  const flash = main().querySelector("[data-announce]");
  announce(flash ? flash.innerText.trim() : heading ? heading.dataset.focus || heading.innerText.trim() : "");
});
document.addEventListener("htmx:load", (event) => installKeys(event.detail.elt));

// A list that is refreshed keeps the row: idiomorph keeps the element, this keeps the mark on it.
let marked = "";
document.addEventListener("htmx:beforeRequest", () => { marked = rows()[here()] ? rows()[here()].id : ""; });
document.addEventListener("htmx:afterSettle", () => {
  const row = marked && document.getElementById(marked);
  if (row) row.classList.add("is-here");
});

// ---------- a link to something folded opens it ----------
function unfold() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
window.addEventListener("hashchange", unfold);

// ---------- start ----------
unfold();
const sheetButton = document.getElementById("keys-open");
if (sheetButton && keysAreOn()) {
  sheetButton.hidden = false;
  sheetButton.addEventListener("click", showKeys);
}
document.querySelectorAll("[data-copy]").forEach((button) => {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).innerText);
    announce(button.dataset.done);
  });
});
if (!window.htmx) installKeys(document);
