/**
 * The only page that shows a key's text: once, for a few minutes after it was made, read with the person's own rights.
 * The address tells the rotation and since when the page waits; the text is in no address, log or cookie.
 */
import { Type } from 'typebox';
import { hash } from 'node:crypto';
import type { ApiKey } from '#crds/types.gen.ts';
import { html, NOTHING, preformatted } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { renderSnippets } from '#web/pricing/model-page.ts';
import { EXAMPLE_MODEL, EXAMPLE_URL, snippetsOf } from '#web/snippets.ts';
import { KEY_LABEL, secretNameOf } from '#objects/key-secret.ts';
import { AccessError } from '../access/access.ts';
import { callableModels } from '../queries/callable-models.ts';
import type { CallableModel } from '../queries/callable-models.ts';
import { factsOf } from '../queries/key-facts.ts';
import { requestedKey, renderHeadOf } from './requested-key.ts';
import type { KeyRequest } from './requested-key.ts';
import { claimReveal, REVEAL_WINDOW_MS, isRevealed } from './reveal.ts';
import { OBJECT, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import type { Backend } from '../components/missing-right.ts';
import { keyPath } from '../paths.ts';
import { notice } from '../components/notice.ts';
import { section, empty } from '../components/page.ts';

const CREATED_QUERY = Type.Object({
  rotation: queryText(),
  /** When the key was asked for, in milliseconds since the epoch. */
  since: queryText(),
  /** Present: only what the page's script puts in place. */
  part: queryText(),
});

type CreatedRequest = KeyRequest & PageRequest<{ readonly query: typeof CREATED_QUERY }>;

export const keyCreatedRoutes: readonly ConsoleRoute[] = [
  route({
    method: 'GET',
    path: '/keys/:namespace/:name/created',
    params: OBJECT,
    query: CREATED_QUERY,
    handle: createdPage,
  }),
];

/** Longer than generating a key takes: after this the page says so and stops polling. */
const LATE_MS = 60_000;

/** How far replicas' clocks may differ. */
const CLOCK_SKEW_MS = 60_000;

/** The page, or the part of it that its script puts in place. */
async function createdPage(request: CreatedRequest): Promise<HandlerResult> {
  const { deps, query } = request;
  const apiKey = await requestedKey(request);
  const made = await findCreatedKey(request, apiKey);
  const view = {
    apiKey,
    made,
    gatewayUrl: deps.gatewayUrl,
    call: callableModels(deps, apiKey)[0],
    backend: deps.access.backend,
  };
  if (query.part !== undefined) return { fragment: renderCreated(view) };
  return {
    page: {
      title: `The key of ${apiKey.metadata.name}`,
      active: 'keys',
      body: renderCreatedPage(view),
      scripts: ['copy.js', 'key-made.js'],
      styles: ['keys.css'],
    },
  };
}

async function findCreatedKey(request: CreatedRequest, apiKey: ApiKey): Promise<CreatedKey> {
  if (apiKey.spec.key.type === 'Provided') return { state: 'Provided' };
  const { nowMs, headOnly, deps } = request;
  const asked = askedFor(request, apiKey);
  if (!asked) return { state: 'Over' };
  const waiting = { state: 'Waiting', late: nowMs >= asked.sinceMs + LATE_MS } as const;
  const { keyHash } = asked;
  if (keyHash === undefined) return waiting;
  if (isRevealed(deps.state, keyHash)) return { state: 'Over' };
  const found = await readKey(request, apiKey, keyHash);
  if (found === undefined) return waiting;
  if (found === 'Unreadable') return { state: 'Unreadable' };
  return headOnly || (await claimReveal(deps.state, keyHash, nowMs))
    ? { state: 'Shown', text: found.text }
    : { state: 'Over' };
}

/**
 * The rotation that the address asks for: since when, and its key's hash once it is made. undefined: it is too late, or
 * a later rotation replaced it.
 */
function askedFor(
  { query, nowMs }: CreatedRequest,
  { status = {} }: ApiKey,
): { readonly sinceMs: number; readonly keyHash: string | undefined } | undefined {
  const [rotation, sinceMs] = [numberOf(query.rotation), numberOf(query.since)];
  const inTime = sinceMs <= nowMs + CLOCK_SKEW_MS && nowMs < sinceMs + REVEAL_WINDOW_MS;
  const { keyHash, keyRotation = 0 } = status;
  return inTime && rotation >= Math.max(1, keyRotation)
    ? { sinceMs, keyHash: keyRotation === rotation ? keyHash : undefined }
    : undefined;
}

/** The key's text, once it has this hash: the Secret may still contain the previous key. */
async function readKey(
  { person, deps: { keyHashOf = sha256 } }: CreatedRequest,
  { metadata }: ApiKey,
  keyHash: string,
): Promise<'Unreadable' | { readonly text: string } | undefined> {
  try {
    const text = await person.readKeyText(metadata);
    return text !== undefined && keyHashOf(text) === keyHash ? { text } : undefined;
  } catch (error) {
    if (error instanceof AccessError && error.reason === 'Forbidden') return 'Unreadable';
    throw error;
  }
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

function numberOf(text: string | undefined): number {
  return /^\d{1,15}$/.test(text ?? '') ? Number(text) : NaN;
}

/** The states of the page. */
type CreatedKey =
  | { readonly state: 'Shown'; readonly text: string }
  /** The key is not generated yet; the page polls. Late: it takes unusually long. */
  | { readonly state: 'Waiting'; readonly late: boolean }
  /** The key is there, but the person may not read its Secret. */
  | { readonly state: 'Unreadable' }
  /** The key was shown already, or was generated too long ago. */
  | { readonly state: 'Over' }
  /** The person provided the key. */
  | { readonly state: 'Provided' };

interface CreatedView {
  readonly apiKey: ApiKey;
  readonly made: CreatedKey;
  /** undefined: not configured. */
  readonly gatewayUrl: string | undefined;
  /** A model that the key can call, as far as is known: one that chats, if there is one. */
  readonly call: CallableModel | undefined;
  readonly backend: Backend;
}

const REFRESH_SECONDS = 2;

/** The whole page. */
function renderCreatedPage(view: CreatedView): Html {
  const { apiKey } = view;
  return html`${renderHeadOf(apiKey, html`The key of <bdi>${apiKey.metadata.name}</bdi>`, 'Key')} ${renderCreated(view)}`;
}

/** The part that changes once the key is there. */
function renderCreated(view: CreatedView): Html {
  const { made, apiKey } = view;
  return html`<div
    id="made"
    data-state="${made.state}"
    ${made.state === 'Waiting' && !made.late ? html`data-refresh="${REFRESH_SECONDS}"` : NOTHING}
  >
    ${renderCreatedState(view)}
    <div class="form-actions">
      ${
        made.state === 'Shown'
          ? html`<a class="button primary" href="${keyPath(apiKey)}">I have kept it</a>`
          : html`<a class="button" href="${keyPath(apiKey)}">Go to the key</a>`
      }
      <a class="button" href="/keys">All keys</a>
    </div>
  </div>`;
}

function renderCreatedState(view: CreatedView): Html {
  const { made } = view;
  switch (made.state) {
    case 'Shown':
      return renderShown(view, made.text);
    case 'Waiting':
      return renderWaiting(view, made.late);
    case 'Unreadable':
      return renderUnreadable(view);
    case 'Over':
      return renderOver(view);
    case 'Provided':
      return renderProvided(view);
  }
}

function renderShown({ apiKey, gatewayUrl, call }: CreatedView, text: string): Html {
  const { readiness } = factsOf(apiKey);
  const snippets = snippetsOf({
    url: gatewayUrl ?? EXAMPLE_URL,
    key: text,
    ...(call ?? { model: EXAMPLE_MODEL, endpoint: 'Chat' }),
  });
  const placeholders = [
    ...(gatewayUrl === undefined
      ? [`${EXAMPLE_URL} stands for the gateway's address, which this console was not told`]
      : []),
    ...(call === undefined ? [`${EXAMPLE_MODEL} for a model's name`] : []),
  ];
  return html`<p class="key-once">
      <b>Keep it now: it is shown only this once.</b> Whoever has it can spend your money, so treat it like a password.
    </p>
    <div class="secret">
      <code id="key-text">${text}</code>
      <button type="button" class="button small" data-copy="key-text" hidden>Copy</button>
    </div>
    ${
      readiness.state === 'NotReady' && !readiness.underWay
        ? notice(html`<b>It does not work yet: ${readiness.reason}.</b> ${readiness.message}`, {
            tone: 'warn',
            id: 'not-ready',
          })
        : NOTHING
    }
    ${section(
      { id: 'first-call', title: 'Your first call' },
      html`${placeholders.length === 0 ? NOTHING : html`<p class="hint" id="placeholders">${placeholders.join(', and ')}.</p>`}
      ${renderSnippets(snippets)}`,
    )}`;
}

function renderWaiting({ apiKey }: CreatedView, late: boolean): Html {
  const { readiness } = factsOf(apiKey);
  if (late) {
    return html`<div class="empty" id="late" role="status">
      <h2>The key is not made yet</h2>
      <p>
        It should have taken a few seconds. The gateway says:
        ${readiness.message === '' ? readiness.reason : readiness.message}
      </p>
      <div class="actions">
        <a class="button" href="">Look again</a>
      </div>
    </div>`;
  }
  return html`<noscript><meta http-equiv="refresh" content="${REFRESH_SECONDS}" /></noscript>
    <div class="empty" id="waiting" role="status">
      <h2>The key is being made</h2>
      <p>This takes a few seconds; it appears here by itself.</p>
      <div class="key-progress" aria-hidden="true"></div>
    </div>`;
}

function renderUnreadable({ apiKey }: CreatedView): Html {
  const { namespace } = apiKey.metadata;
  const name = secretNameOf(apiKey);
  return empty(
    { id: 'unreadable', title: 'The key is made, but you may not read it' },
    html`<p>
        It is in the Secret <code>${name}</code>. Being shown it takes the right to <code>get</code>
        <code>secrets</code> in ${namespace}. Whoever has that right can read the key:
      </p>
      <pre class="code">${preformatted(readCommand(namespace, name))}</pre>`,
  );
}

function renderOver({ apiKey, backend }: CreatedView): Html {
  const { namespace } = apiKey.metadata;
  const name = secretNameOf(apiKey);
  return empty(
    { id: 'over', title: 'This key is not shown again' },
    html`<p>
        A key is shown once, right after it was made.
        ${
          backend === 'Kubernetes'
            ? 'Who may read its Secret can still get it:'
            : 'It is kept in the data folder, in the Secret'
        }${backend === 'Files' ? html` <code>${name}</code>.` : NOTHING}
      </p>
      ${backend === 'Kubernetes' ? html`<pre class="code">${preformatted(readCommand(namespace, name))}</pre>` : NOTHING}
      <p>If it is lost, rotate it: that makes a new one.</p>`,
  );
}

function renderProvided({ apiKey, backend }: CreatedView): Html {
  const { name, namespace } = apiKey.metadata;
  const secret = secretNameOf(apiKey);
  const ready = factsOf(apiKey).readiness.state === 'Ready';
  const manifest =
    backend === 'Kubernetes'
      ? `kubectl create secret generic ${secret} -n ${namespace} --from-literal=apiKey=sk-YOUR-KEY
kubectl label secret ${secret} -n ${namespace} ${KEY_LABEL}=${name}`
      : secretManifest(namespace, secret);
  return empty(
    { id: 'provided', title: ready ? 'Your key works' : 'It works once its Secret is there' },
    html`<p>
        The gateway takes the key from the entry <code>apiKey</code> of the Secret <code>${secret}</code>, and never
        writes it.
      </p>
      <pre class="code">${preformatted(manifest)}</pre>`,
  );
}

function secretManifest(namespace: string, name: string): string {
  return `apiVersion: v1
kind: Secret
metadata: {name: ${name}, namespace: ${namespace}}
stringData: {apiKey: sk-YOUR-KEY}`;
}

function readCommand(namespace: string, secret: string): string {
  return `kubectl get secret ${secret} -n ${namespace} -o jsonpath='{.data.apiKey}' | base64 -d`;
}
