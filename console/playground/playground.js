/**
 * Calls a model through the console and shows the answer as it comes, with what it cost. The key, the conversation and
 * the answers are in this page's memory alone.
 */
const root = document.getElementById('playground');
const at = (id) => document.getElementById(id);
const CHAT = '/v1/chat/completions';
const IMAGES = '/v1/images/generations';
const EMBEDDINGS = '/v1/embeddings';
const VIDEOS = '/v1/videos';
/** The calls of models that do not chat: one request without a conversation. */
const SINGLE = [IMAGES, EMBEDDINGS, VIDEOS];
/** How a conversation is asked for, and which words an event adds, by path. */
const APIS = {
  [CHAT]: {
    body: ({ model, system, messages, limit }) => ({
      model,
      max_completion_tokens: limit,
      stream: true,
      messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...messages],
    }),
    wordsOf: ({ choices }) => choices?.[0]?.delta?.content ?? '',
  },
  '/v1/responses': {
    body: ({ model, system, messages, limit }) => ({
      model,
      max_output_tokens: limit,
      stream: true,
      store: false,
      ...(system !== '' && { instructions: system }),
      input: messages,
    }),
    wordsOf: ({ type, delta }) => (type === 'response.output_text.delta' ? delta : ''),
  },
  '/v1/messages': {
    body: ({ model, system, messages, limit }) => ({
      model,
      max_tokens: limit,
      stream: true,
      ...(system !== '' && { system }),
      messages,
    }),
    wordsOf: ({ type, delta }) => (type === 'content_block_delta' ? (delta?.text ?? '') : ''),
  },
  [IMAGES]: { body: ({ model, messages }) => ({ model, prompt: messages.at(-1).content }), show: showImages },
  [EMBEDDINGS]: { body: ({ model, messages }) => ({ model, input: messages.at(-1).content }), show: showVector },
  [VIDEOS]: {
    body: ({ model, messages, seconds }) => ({ model, prompt: messages.at(-1).content, ...(seconds && { seconds }) }),
    show: followVideo,
  },
};
const VIDEO_POLL_MS = 2_000;
/** The first numbers of an embedding that are shown. */
const NUMBERS = 8;
const USAGE_TRIES_MS = [0, 300, 1_000, 2_000, 4_000];

/** Models by name, with the paths at which each can be called here. */
let models = new Map();
let messages = [];
let turns = 0;
let running;
let asking;

if (root) {
  at('pg-prompt').addEventListener('submit', (event) => {
    event.preventDefault();
    void send();
  });
  at('playground-form').addEventListener('submit', (event) => event.preventDefault());
  at('pg-text').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    at('pg-prompt').requestSubmit();
  });
  at('pg-stop').addEventListener('click', () => running?.abort());
  at('pg-new').addEventListener('click', forget);
  at('pg-model').addEventListener('change', showApis);
  // without any key there is only the field to paste one
  at('pg-ref')?.addEventListener('change', () => {
    empty('pg-key');
    keyChosen();
  });
  at('pg-key')?.addEventListener('change', () => {
    if (at('pg-ref')?.tagName === 'INPUT') empty('pg-ref');
    void readModels();
  });
  keyChosen();
}

/** Of a key that is chosen and one that is pasted, the later counts. */
function empty(id) {
  if (at(id)) at(id).value = '';
}

/** A key by its name, the one of the session, or what was pasted. */
function chosenKey() {
  const pasted = at('pg-key-field')?.hidden === false ? at('pg-key').value.trim() : '';
  const ref = at('pg-ref')?.value.trim() ?? '';
  return pasted === '' ? { ref: ref === 'paste' ? '' : ref } : { key: pasted };
}

function keyChosen() {
  const field = at('pg-key-field');
  if (field && at('pg-ref')?.tagName === 'SELECT') field.hidden = at('pg-ref').value !== 'paste';
  void readModels();
}

/** Posts to a page beside the form's, which passes it on to the gateway. */
function post(page, fields, signal) {
  const body = new URLSearchParams(new FormData(at('playground-form')));
  for (const [name, value] of Object.entries({ ...chosenKey(), ...fields })) body.set(name, value);
  return fetch(new URL(page, at('playground-form').action), {
    method: 'POST',
    body,
    signal,
    credentials: 'same-origin',
  });
}

/** An error in the words of the gateway, or of the console. */
async function errorOf(response) {
  const text = await response.text();
  try {
    return wordsOfError(JSON.parse(text).error) ?? `HTTP status ${response.status}`;
  } catch {
    // a page of the console: the session is over, or the form's token is of another one
    return (
      new DOMParser().parseFromString(text, 'text/html').querySelector('main p')?.textContent ??
      `HTTP status ${response.status}`
    );
  }
}

function wordsOfError(error) {
  if (!error?.message) return undefined;
  return error.code ? `${error.message} (${error.code})` : error.message;
}

async function readModels() {
  const { key, ref } = chosenKey();
  setModels([], 'Choose a key first');
  say('');
  if (!key && !ref) return;
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  setModels([], 'Loading…');
  try {
    const response = await post('models', {}, signal);
    if (!response.ok) throw new Error(await errorOf(response));
    const { data } = await response.json();
    setModels(data.flatMap(callable), 'This key can call no model here');
  } catch (error) {
    if (signal.aborted) return;
    setModels([], 'No models');
    fail(at('playground-form'), error.message, at('pg-model').closest('.field'));
  }
}

/** Chat models have three APIs; others have one. */
function callable({ id, endpoints = [] }) {
  if (endpoints.includes(CHAT)) return [[id, Object.keys(APIS).filter((path) => !SINGLE.includes(path))]];
  const path = SINGLE.find((each) => endpoints.includes(each));
  return path === undefined ? [] : [[id, [path]]];
}

function setModels(found, otherwise) {
  at('playground-form').querySelector('.notice')?.remove();
  models = new Map(found);
  const select = at('pg-model');
  const wanted = select.value || root.dataset.model;
  select.replaceChildren(
    ...(models.size === 0
      ? [new Option(otherwise, '')]
      : [...models.keys()].map((name) => new Option(name, name, false, name === wanted))),
  );
  select.disabled = models.size === 0;
  at('pg-send').disabled = models.size === 0;
  showApis();
}

/** The path of a model that does not chat; undefined for one that does. */
function singlePath() {
  return SINGLE.find((path) => path === models.get(at('pg-model').value)?.[0]);
}

function showApis() {
  const isSingle = singlePath() !== undefined;
  at('pg-api-field').hidden = isSingle;
  at('pg-options').hidden = isSingle;
  at('pg-seconds-field').hidden = !isBySecond();
}

/** A video of the model costs by the second, so that a call must say how many. */
function isBySecond() {
  return singlePath() === VIDEOS && JSON.parse(root.dataset.bySecond).includes(at('pg-model').value);
}

async function send() {
  const prompt = at('pg-text').value.trim();
  if (running || at('pg-send').disabled || prompt === '') return;
  const path = singlePath() ?? at('pg-api').value;
  const turn = { role: 'user', content: prompt };
  const body = APIS[path].body({
    model: at('pg-model').value,
    system: at('pg-system').value.trim(),
    messages: [...messages, turn],
    limit: Number(at('pg-limit').value) || 1024,
    ...(isBySecond() && { seconds: at('pg-seconds').value }),
  });
  const view = addTurn(prompt, path, body);
  at('pg-text').value = '';
  setRunning(new AbortController());
  try {
    await call(path, body, view);
    if (!SINGLE.includes(path)) messages.push(turn, { role: 'assistant', content: view.answer.textContent });
    say('Answered.');
  } catch (error) {
    stopped(error, path, view);
    at('pg-text').value ||= prompt;
  }
  setRunning(undefined);
}

async function call(path, body, view) {
  const startMs = performance.now();
  const response = await post('calls', { path, body: JSON.stringify(body) }, running.signal);
  const id = response.headers.get('x-request-id');
  if (!response.ok) throw new Error(await errorOf(response));
  const firstMs = await showAnswer(response, path, view);
  const allMs = performance.now() - startMs;
  await showFacts(view, id, { firstMs: firstMs && firstMs - startMs, allMs, model: body.model });
}

/** By the reader, or by an error. */
function stopped(error, path, view) {
  if (!running.signal.aborted) return fail(view.article, error.message, view.facts);
  view.facts.textContent =
    path === VIDEOS
      ? 'Stopped waiting. The video is paid for, and the provider goes on making it.'
      : 'Stopped. What was answered until then is billed.';
  return say('Stopped.');
}

function setRunning(next) {
  running = next;
  at('pg-send').disabled = next !== undefined || models.size === 0;
  at('pg-stop').hidden = next === undefined;
  at('pg-new').hidden = next !== undefined || turns === 0;
  if (next) say('Answering…');
}

/** Returns the time at which the first words came. */
async function showAnswer(response, path, view) {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await APIS[path].show?.(await response.json(), view);
    return undefined;
  }
  let firstMs;
  for await (const event of eventsOf(response.body)) {
    failWith(event.error ?? event.response?.error);
    const words = APIS[path].wordsOf(event) ?? '';
    if (words === '') continue;
    firstMs ??= performance.now();
    view.answer.append(words);
  }
  return firstMs;
}

/** An error in the midst of an answer. */
function failWith(error) {
  if (error) throw new Error(wordsOfError(error) ?? 'The answer broke off.');
}

function showImages({ data = [] }, view) {
  for (const { b64_json: base64, url } of data) {
    if (base64) {
      const alt = `Made by ${at('pg-model').value}`;
      view.answer.append(Object.assign(new Image(), { src: `data:${imageType(base64)};base64,${base64}`, alt }));
    } else if (url) {
      view.answer.append(
        Object.assign(document.createElement('a'), {
          href: url,
          textContent: 'Open the image',
          target: '_blank',
          rel: 'noreferrer',
        }),
      );
    }
  }
}

function showVector({ data = [] }, view) {
  const vector = data[0]?.embedding ?? [];
  const first = vector
    .slice(0, NUMBERS)
    .map((number) => number.toFixed(4))
    .join(', ');
  view.answer.textContent = `${count(vector.length)} dimensions: ${first}${vector.length > NUMBERS ? ', …' : ''}`;
}

/** Polls the video's state until it has ended, and then fetches it. */
async function followVideo(job, view) {
  const { signal } = running;
  const { id } = job;
  let { status, progress, error } = job;
  while (status === 'queued' || status === 'in_progress') {
    view.answer.textContent = status === 'queued' ? 'Queued' : `In progress, ${progress ?? 0} %`;
    await new Promise((resolve) => {
      setTimeout(resolve, VIDEO_POLL_MS);
    });
    signal.throwIfAborted();
    const response = await post('videos', { id }, signal);
    if (!response.ok) throw new Error(await errorOf(response));
    ({ status, progress, error } = await response.json());
  }
  view.answer.textContent = '';
  if (status !== 'completed') throw new Error(wordsOfError(error) ?? `The video has ended as ${status}.`);
  const response = await post('videos', { id, content: 'yes' }, signal);
  if (!response.ok) throw new Error(await errorOf(response));
  showVideo(await response.blob(), view);
}

/** The player where the browser has one for the type, and the file. */
function showVideo(blob, view) {
  const href = URL.createObjectURL(blob);
  const video = document.createElement('video');
  if (video.canPlayType(blob.type) !== '') view.answer.append(Object.assign(video, { src: href, controls: true }));
  view.answer.append(
    Object.assign(document.createElement('a'), {
      href,
      download: `video.${blob.type === 'video/mp4' ? 'mp4' : blob.type === 'video/webm' ? 'webm' : 'avi'}`,
      textContent: `Save the video (${count(Math.ceil(blob.size / 1024))} KiB)`,
    }),
  );
}

function imageType(base64) {
  if (base64.startsWith('/9j/')) return 'image/jpeg';
  return base64.startsWith('UklGR') ? 'image/webp' : 'image/png';
}

/** The data of server-sent events, each a line of JSON. */
async function* eventsOf(body) {
  let rest = '';
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split(/\r?\n/);
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith('data:') && line.slice(5).trim() !== '[DONE]') yield JSON.parse(line.slice(5));
    }
  }
}

/** The ledger's record of the call, which is written a moment after its end. */
async function showFacts(view, id, { firstMs, allMs, model }) {
  const time = firstMs === undefined ? seconds(allMs) : `${seconds(allMs)}, first words after ${seconds(firstMs)}`;
  for (const waitMs of USAGE_TRIES_MS) {
    await new Promise((resolve) => {
      setTimeout(resolve, waitMs);
    });
    const response = await post('usage', { id });
    if (!response.ok) continue;
    const record = await response.json();
    const { cost_usd: cost } = record;
    const tokens = tokenWords(record);
    view.facts.textContent = [`$${cost}`, ...tokens, time, model].join(' · ');
    return;
  }
  view.facts.textContent = `${time} · What it cost is not in the ledger yet: see the key’s calls.`;
}

function tokenWords({
  input_tokens: input,
  cached_tokens: cached,
  cache_write_tokens: written,
  output_tokens: output,
}) {
  const all = input + cached + written;
  if (all + output === 0) return [];
  return [`${count(all)} tokens in${cached > 0 ? ` (${count(cached)} cached)` : ''}, ${count(output)} out`];
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

function count(number) {
  return number.toLocaleString('en-US');
}

function addTurn(prompt, path, body) {
  const template = document.createElement('template');
  const id = `pg-curl-${++turns}`;
  template.innerHTML = `<article class="pg-turn"><h2 class="vh">Call ${turns}</h2><p class="pg-you"></p>
<div class="pg-answer"></div><p class="pg-facts soft"></p>
<details class="fold"><summary>The same call as curl</summary>
<button type="button" class="button small" data-copy="${id}" hidden>Copy</button>
<pre class="code" tabindex="0"><code id="${id}"></code></pre></details></article>`;
  const article = template.content.firstElementChild;
  const part = (name) => article.querySelector(name);
  part('.pg-you').textContent = prompt;
  part('code').textContent = curlOf(path, body);
  at('pg-answers').append(article);
  document.dispatchEvent(new CustomEvent('console:changed', { detail: article }));
  article.scrollIntoView({ block: 'nearest' });
  return { article, answer: part('.pg-answer'), facts: part('.pg-facts') };
}

function curlOf(path, body) {
  const quoted = (text) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return `curl ${body.stream ? '-N ' : ''}${quoted(root.dataset.gateway.replace(/\/+$/, '') + path)} \\
  -H "Authorization: Bearer $MGW_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(JSON.stringify(body, undefined, 2))}`;
}

function fail(parent, words, before) {
  const notice = at('pg-error').content.firstElementChild.cloneNode(true);
  notice.querySelector('p').textContent = words;
  parent.insertBefore(notice, before ?? null);
  say('');
}

function say(words) {
  at('pg-status').textContent = words;
}

function forget() {
  messages = [];
  turns = 0;
  at('pg-answers').replaceChildren();
  at('pg-new').hidden = true;
  at('pg-text').focus();
}
