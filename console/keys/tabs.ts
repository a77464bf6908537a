/** The frame of a key's pages: the heading with its actions, the tabs, and the open tab below. */
import { Type } from 'typebox';
import type { ApiKey } from '#crds/types.gen.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { queryText } from '../request-schema.ts';
import type { HandlerResult, Page, PageRequest } from '../route.ts';
import { postForm } from '../components/form.ts';
import { UNDO_SCRIPT, undoOffer } from './undo.ts';
import { renderKeyHead, switchValue } from './requested-key.ts';
import { copyPath, keyPath } from '../paths.ts';
import { tabs } from '../components/tabs.ts';

/** What was just done to the key. */
export const DONE_QUERY = Type.Object({ done: queryText() });

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
  { person, query, csrf }: PageRequest<{ readonly query: typeof DONE_QUERY }>,
  apiKey: ApiKey,
  { tab: open, body, scripts = [], styles = [], status = 200 }: OpenTab,
): Promise<HandlerResult> {
  const { namespace, name } = apiKey.metadata;
  const [mayCreate, mayChange, mayDelete] = await Promise.all([
    person.may('create', 'ApiKey', { namespace }),
    person.may('patch', 'ApiKey', { namespace, name }),
    person.may('delete', 'ApiKey', { namespace, name }),
  ]);
  const rights = { mayCreate, mayChange, mayDelete };
  const undo = mayChange && query.done === 'off' ? renderUndo(apiKey, csrf) : NOTHING;
  const label = TABS.find(({ tab }) => tab === open)?.label ?? '';
  return {
    page: {
      title: `${name} · ${label} · API keys`,
      active: 'keys',
      body: html`${renderHead(apiKey, rights, csrf)} ${renderTabs(apiKey, open)} ${undo}${body}`,
      scripts: [UNDO_SCRIPT, ...scripts],
      styles: ['keys.css', ...styles],
    },
    status,
  };
}

interface KeyRights {
  readonly mayCreate: boolean;
  readonly mayChange: boolean;
  readonly mayDelete: boolean;
}

function renderHead(apiKey: ApiKey, { mayCreate, mayChange, mayDelete }: KeyRights, csrf: string): Html {
  const { namespace, name } = apiKey.metadata;
  const rotates = mayChange && apiKey.spec.key.type === 'Generated';
  return renderKeyHead({
    title: html`<bdi>${name}</bdi>`,
    here: name,
    lede: html`API key in the namespace <bdi>${namespace}</bdi>`,
    actions: html`${mayChange ? renderSwitch(apiKey, { csrf, label: apiKey.spec.enabled ? 'Disable' : 'Enable' }) : NOTHING}
      <a class="button" href="${keyPath(apiKey, 'yaml')}">YAML</a>
      ${mayCreate ? html`<a class="button" href="${copyPath(apiKey)}">Duplicate</a>` : NOTHING}
      ${rotates ? html`<a class="button" href="${keyPath(apiKey, 'rotate')}">Rotate</a>` : NOTHING}
      ${mayDelete ? html`<a class="button danger" href="${keyPath(apiKey, 'delete')}">Delete</a>` : NOTHING}`,
  });
}

interface SwitchButton {
  readonly csrf: string;
  readonly label: string;
  /** Further classes. */
  readonly style?: string;
}

/** Posts the same as the key's switch in the list, and returns to the key. */
function renderSwitch(apiKey: ApiKey, { csrf, label, style = '' }: SwitchButton): Html {
  return postForm(
    { action: keyPath(apiKey, 'enabled'), csrf, hidden: { back: 'key' } },
    html`<button type="submit" class="button${style}" name="to" value="${switchValue(apiKey)}">${label}</button>`,
  );
}

function renderUndo(apiKey: ApiKey, csrf: string): Html {
  if (apiKey.spec.enabled) return NOTHING;
  return undoOffer(apiKey, (key) => renderSwitch(key, { csrf, label: 'Undo', style: ' small' }));
}

function renderTabs(apiKey: ApiKey, open: KeyTab): Html {
  return tabs(
    'Pages of this key',
    TABS.map(({ tab, label, path }) => ({ label, href: path(apiKey), current: tab === open })),
  );
}
