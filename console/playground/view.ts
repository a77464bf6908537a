/** [P] The playground's page; playground.js fills in the models and the answers. */
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { postForm } from '../components/form.ts';
import { notice } from '../components/notice.ts';
import { pageHead } from '../components/page.ts';
import { MAX_ID_LENGTH } from '../request-schema.ts';

interface PlaygroundView {
  /** "namespace/name" of those that can be chosen. With many, they are searched. */
  readonly keys: readonly string[];
  readonly chosen: string | undefined;
  /** The person has signed in with the only one. */
  readonly own: boolean;
  /** To begin with; empty: the first. */
  readonly model: string;
  /** Models whose videos are priced by the second. */
  readonly bySecond: readonly string[];
  /** undefined: not configured. */
  readonly gatewayUrl: string | undefined;
  readonly csrf: string;
}

/** Below the layout's navigation. */
export function renderPlayground(view: PlaygroundView): Html {
  return html`${pageHead({
    title: 'Playground',
    lede: 'Call a model with one of your keys. The key pays, as for any call.',
  })}
  ${view.gatewayUrl === undefined ? renderNoGateway() : renderForm({ ...view, gatewayUrl: view.gatewayUrl })}`;
}

function renderNoGateway(): Html {
  return notice(
    html`Whoever runs the gateway can set it: <code>--console-gateway-url https://gateway.example.com</code> of
      <code>mgw operator</code>, or <code>console.gatewayUrl</code> of the Helm chart.`,
    { tone: 'warn', title: 'The console does not know the gateway’s address' },
  );
}

const NEEDS_SCRIPTS = notice(
  html`The playground needs scripts. Without them, a key’s page has calls to copy, under <a href="/keys">Use it</a>.`,
);

/** The script copies it for each error, and fills in the words. */
const ERROR = notice('', { tone: 'bad', role: 'alert' });

function renderForm({
  keys,
  chosen,
  own,
  model,
  bySecond,
  gatewayUrl,
  csrf,
}: PlaygroundView & { readonly gatewayUrl: string }): Html {
  return html`<noscript>${NEEDS_SCRIPTS}</noscript>
    <template id="pg-error">${ERROR}</template>
    <div
      class="playground"
      id="playground"
      data-gateway="${gatewayUrl}"
      data-model="${model}"
      data-by-second="${JSON.stringify(bySecond)}"
    >
      ${postForm(
        { action: '/playground/calls', csrf, id: 'playground-form', autocomplete: 'off' },
        html`${own ? renderOwnKey(keys) : renderKeys(keys, chosen)}
          <div class="field">
            <label for="pg-model">Model</label>
            <select id="pg-model" disabled>
              <option value="">Choose a key first</option>
            </select>
          </div>
          <div class="field" id="pg-api-field">
            <label for="pg-api">API</label>
            <select id="pg-api">
              <option value="/v1/chat/completions">Chat Completions (OpenAI)</option>
              <option value="/v1/responses">Responses (OpenAI)</option>
              <option value="/v1/messages">Messages (Anthropic)</option>
            </select>
          </div>
          <div class="field short" id="pg-seconds-field" hidden>
            <label for="pg-seconds">Seconds of video</label>
            <input
              id="pg-seconds"
              type="number"
              min="1"
              max="600"
              step="1"
              value="4"
              aria-describedby="pg-seconds-hint"
            />
            <p class="hint" id="pg-seconds-hint">Each is paid for. Providers make some lengths only.</p>
          </div>
          <details class="fold" id="pg-options">
            <summary>More options</summary>
            <div class="field">
              <label for="pg-system">System prompt</label>
              <textarea id="pg-system" rows="3"></textarea>
            </div>
            <div class="field short">
              <label for="pg-limit">Output limit, in tokens</label>
              <input id="pg-limit" type="number" min="1" max="1000000" step="1" value="1024" />
            </div>
          </details>`,
      )}
      <div class="pg-talk">
        <div id="pg-answers" aria-live="off"></div>
        ${postForm(
          { action: '/playground/calls', csrf, id: 'pg-prompt', style: 'form pg-prompt', autocomplete: 'off' },
          html`<div class="field">
              <label for="pg-text">Prompt</label>
              <textarea id="pg-text" rows="3" required aria-describedby="pg-hint"></textarea>
              <p class="hint" id="pg-hint">Ctrl or ⌘ and Enter sends it.</p>
            </div>
            <div class="form-actions">
              <button type="submit" class="button primary" id="pg-send" disabled>Send</button>
              <button type="button" class="button" id="pg-stop" hidden>Stop</button>
              <button type="button" class="button plain" id="pg-new" hidden>New conversation</button>
            </div>
            <p class="vh" role="status" id="pg-status"></p>`,
        )}
      </div>
    </div>`;
}

function renderOwnKey([key = '']: readonly string[]): Html {
  return html`<input type="hidden" id="pg-ref" value="${key}" />
    <p class="hint">Paid by <bdi>${key}</bdi>, with which you are signed in.</p>`;
}

/** With more keys than this, they are searched. */
const MAX_LISTED = 200;
/** As many are proposed; the name of any other can be typed. */
const MAX_PROPOSED = 500;

function renderKeys(keys: readonly string[], chosen: string | undefined): Html {
  const listed = keys.length <= MAX_LISTED;
  return html`${keys.length === 0 ? NO_KEY : listed ? renderKeyList(keys, chosen) : renderKeySearch(keys, chosen)}
    <div class="field" id="pg-key-field" ${flag('hidden', listed && keys.length > 0)}>
      <label for="pg-key">${listed ? 'API key' : 'Or paste an API key'}</label>
      <input
        id="pg-key"
        type="password"
        class="mono"
        placeholder="sk-…"
        spellcheck="false"
        autocapitalize="none"
        autocomplete="off"
        aria-describedby="pg-key-hint"
      />
      <p class="hint" id="pg-key-hint">
        It stays in this page until you leave it. The console passes it on to the gateway and keeps it nowhere.
      </p>
    </div>`;
}

const NO_KEY = html`<p class="hint" id="pg-no-key">
  You see no key that is enabled. <a href="/keys/new">Create one</a>, or paste one here.
</p>`;

function renderKeyList(keys: readonly string[], chosen: string | undefined): Html {
  return html`<div class="field">
    <label for="pg-ref">Key</label>
    <select id="pg-ref">
      ${chosen === undefined ? html`<option value="" disabled selected>Choose a key</option>` : NOTHING}${keys.map(
        (key) => html`<option value="${key}" ${flag('selected', key === chosen)}>${key}</option>`,
      )}
      <option value="paste">Paste a key…</option>
    </select>
  </div>`;
}

function renderKeySearch(keys: readonly string[], chosen: string | undefined): Html {
  return html`<div class="field">
    <label for="pg-ref">Key</label>
    <input
      id="pg-ref"
      list="pg-refs"
      value="${chosen ?? ''}"
      maxlength="${MAX_ID_LENGTH}"
      placeholder="namespace/name"
      spellcheck="false"
      autocapitalize="none"
      autocomplete="off"
    />
    <datalist id="pg-refs">
      ${keys.slice(0, MAX_PROPOSED).map((key) => html`<option value="${key}"></option>`)}
    </datalist>
  </div>`;
}
