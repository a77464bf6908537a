/** The frame of a key's pages: the heading with its actions, the tabs, and below them the tab that is open. */
import type { ApiKey } from '#crds/types.gen.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { HandlerResult, Page, PageRequest } from '../route.ts';
import { copyPath, keyPath, renderKeyHead } from './requested-key.ts';

type KeyTab = 'overview' | 'activity' | 'settings' | 'use';

const TABS: readonly { readonly tab: KeyTab; readonly label: string; readonly path: (apiKey: ApiKey) => string }[] = [
  { tab: 'overview', label: 'Overview', path: (apiKey) => keyPath(apiKey) },
  { tab: 'activity', label: 'Activity', path: (apiKey) => keyPath(apiKey, 'activity') },
  { tab: 'settings', label: 'Settings', path: (apiKey) => keyPath(apiKey, 'settings') },
  { tab: 'use', label: 'Use it', path: (apiKey) => keyPath(apiKey, 'use') },
];

interface OpenTab extends Pick<Page, 'scripts' | 'styles'> {
  readonly tab: KeyTab;
  readonly body: Html;
  /** Default 200. */
  readonly status?: number;
}

/** The page of a key with one of its tabs open. Rejects with AccessError. */
export async function keyTabPage(
  { person }: PageRequest, apiKey: ApiKey, { tab: open, body, scripts = [], styles = [], status = 200 }: OpenTab,
): Promise<HandlerResult> {
  const { namespace, name } = apiKey.metadata;
  const [mayCreate, mayChange, mayDelete] = await Promise.all([
    person.may('create', 'ApiKey', { namespace }), person.may('patch', 'ApiKey', { namespace, name }),
    person.may('delete', 'ApiKey', { namespace, name }),
  ]);
  const label = TABS.find(({ tab }) => tab === open)?.label ?? '';
  return {
    page: {
      title: `${name} · ${label} · API keys`, active: 'keys',
      body: html`${renderHead(apiKey, { mayCreate, mayChange, mayDelete })}
${renderTabs(apiKey, open)}
${body}`,
      scripts: ['moments.js', ...scripts], styles: ['keys.css', ...styles],
    },
    status,
  };
}

interface KeyRights {
  readonly mayCreate: boolean;
  readonly mayChange: boolean;
  readonly mayDelete: boolean;
}

function renderHead(apiKey: ApiKey, { mayCreate, mayChange, mayDelete }: KeyRights): Html {
  const { namespace, name } = apiKey.metadata;
  const rotates = mayChange && apiKey.spec.key.type === 'Generated';
  return renderKeyHead({
    title: html`<bdi>${name}</bdi>`, here: name, lede: html`API key in the namespace <bdi>${namespace}</bdi>`,
    actions: html`<div class="actions"><a class="button" href="${keyPath(apiKey, 'yaml')}">YAML</a>\
${mayCreate ? html`<a class="button" href="${copyPath(apiKey)}">Copy</a>` : NOTHING}\
${rotates ? html`<a class="button" href="${keyPath(apiKey, 'rotate')}">Rotate</a>` : NOTHING}\
${mayDelete ? html`<a class="button danger" href="${keyPath(apiKey, 'delete')}">Delete</a>` : NOTHING}</div>`,
  });
}

function renderTabs(apiKey: ApiKey, open: KeyTab): Html {
  return html`<nav class="tabs" aria-label="Pages of this key"><ul>${TABS.map(({ tab, label, path }) =>
    html`<li><a href="${path(apiKey)}"${tab === open ? html` aria-current="page"` : NOTHING}>${label}</a></li>`)}\
</ul></nav>`;
}
