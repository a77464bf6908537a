/**
 * Keeps the list of keys up to date and filters it while the reader types. The server renders the same address again in
 * full, and the elements that differ are changed in place, so that nothing flickers, open details stay open and the focus
 * and the selection stay. It pauses while the page is hidden.
 */
import { Idiomorph } from 'idiomorph';

const POLL_MS = 5_000;
const LONGEST_WAIT_MS = 60_000;
const TYPING_MS = 250;

const filters = document.getElementById('keys-filters');
const switches = document.getElementById('switches');
const count = document.getElementById('keys-count');

let waitMs = POLL_MS;
let timer;
let asked = new AbortController();

if (filters && switches && count) {
  filters.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(filter, TYPING_MS);
  });
  // A switch turns at once; should the change be refused, the page that says why is shown, as without scripts.
  document.addEventListener('submit', (event) => {
    if (event.target !== switches || !event.submitter) return;
    event.preventDefault();
    void turn(event.submitter);
  });
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') void ask();
    else clearTimeout(timer);
  });
  schedule();
}

function list() {
  return document.getElementById('keys');
}

function schedule() {
  clearTimeout(timer);
  if (document.visibilityState === 'visible') timer = setTimeout(() => void ask(), waitMs);
}

/** The page's query, without the parameters of the notice. */
function query() {
  const parameters = new URLSearchParams(location.search);
  for (const name of ['deleted', 'off', 'part']) parameters.delete(name);
  return parameters;
}

async function ask() {
  clearTimeout(timer);
  asked.abort();
  asked = new AbortController();
  const { signal } = asked;
  const parameters = query();
  parameters.set('part', list().dataset.version);
  try {
    const response = await fetch(`${filters.action}?${parameters}`, { signal, credentials: 'same-origin' });
    // signed out, or no longer allowed: a full page load says so
    if (response.status === 401 || response.redirected) return location.reload();
    if (!response.ok) throw new Error(String(response.status));
    show(await response.text());
    waitMs = POLL_MS;
  } catch {
    if (signal.aborted) return undefined;
    waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS);
  }
  list().removeAttribute('aria-busy');
  return schedule();
}

/** The view that the controls describe. */
function filter() {
  const parameters = new URLSearchParams();
  for (const control of filters.querySelectorAll('input, select')) {
    const value = control.value.trim();
    if (value !== '' && !(control.name === 'sort' && value === 'status')) parameters.set(control.name, value);
  }
  const text = parameters.toString();
  history.replaceState(null, '', text === '' ? location.pathname : `?${text}`);
  switches.elements.view.value = location.pathname + location.search;
  document.getElementById('keys-csv').search = location.search;
  document.getElementById('keys-clear').hidden = ![...parameters.keys()].some((name) => name !== 'sort');
  list().setAttribute('aria-busy', 'true');
  void ask();
}

async function turn(button) {
  if (button.getAttribute('aria-busy') === 'true') return;
  // a button that undoes is no switch
  const before = button.getAttribute('aria-checked');
  if (before !== null) button.setAttribute('aria-checked', before === 'true' ? 'false' : 'true');
  button.setAttribute('aria-busy', 'true');
  const body = new URLSearchParams(new FormData(switches));
  body.set(button.name, button.value);
  body.set('part', '');
  asked.abort();
  try {
    const response = await fetch(button.formAction, { method: 'POST', body, credentials: 'same-origin' });
    if (!response.ok) throw new Error(String(response.status));
    button.removeAttribute('aria-busy');
    show(await response.text());
    schedule();
  } catch {
    if (before !== null) button.setAttribute('aria-checked', before);
    button.removeAttribute('aria-busy');
    switches.append(
      Object.assign(document.createElement('input'), { type: 'hidden', name: button.name, value: button.value }),
    );
    switches.action = button.formAction;
    switches.submit();
  }
}

/** Leaves alone what only this browser knows: local times, opened details, busy switches. */
const KEPT = {
  beforeNodeMorphed(old, next) {
    if (old.nodeName !== 'TIME' || next.nodeName !== 'TIME') return true;
    // the server writes UTC: moments.js converts a time when it is added
    if (old.dateTime !== next.dateTime) old.replaceWith(document.importNode(next, true));
    return false;
  },
  beforeAttributeUpdated(name, element) {
    return name !== 'aria-busy' && !(name === 'open' && element.nodeName === 'DETAILS');
  },
};

/**
 * Changes the list to what the markup says, element by element, and the offer to undo if the markup has one. Empty
 * markup: nothing has changed.
 */
function show(markup) {
  if (markup.trim() === '') return;
  const template = document.createElement('template');
  template.innerHTML = markup;
  showUndo(template.content.getElementById('undo'));
  const next = template.content.getElementById('keys');
  if (!next) return;
  if (count.textContent !== next.dataset.count) count.textContent = next.dataset.count;
  // a promise only for documents with a head
  void Idiomorph.morph(list(), next, { callbacks: KEPT });
}

function showUndo(next) {
  if (!next) return;
  const undo = document.getElementById('undo');
  undo.replaceChildren(...next.childNodes);
  document.dispatchEvent(new CustomEvent('console:changed', { detail: undo }));
}
