/**
 * One field that finds what people paste: a request id, the beginning of a key, a team, an account, a model, a group or
 * a channel, of what the person may see.
 */
import { Type } from 'typebox';
import { LedgerUnavailable } from '#ledger/spending.ts';
import { KEY_PREFIX_LENGTH } from '#objects/key-secret.ts';
import { namespacedName } from '#objects/resources.ts';
import { compareNames } from '#web/compare-text.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { refOf } from '../components/calls-table.ts';
import { pageHead, section } from '../components/page.ts';
import { route } from '../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../route.ts';
import { formText, MAX_ID_LENGTH, queryText } from '../request-schema.ts';
import { priceListOf } from '../queries/price-lists.ts';
import { seenGroupNames } from '../queries/seen-groups.ts';
import { readRefusalsOfAll } from '../queries/refusals.ts';
import { NO_FILTER } from '../queries/usage-query.ts';
import { callQueryOf, loneKeyName, readScope } from '../queries/usage-scope.ts';
import type { UsageScope } from '../queries/usage-scope.ts';
import { accountPath, callPath, FIND_PATH, keyPath, modelPath, routePath, withParameters } from '../paths.ts';

/** The parts of a request that a search needs. */
type Asked = Pick<PageRequest, 'person' | 'deps' | 'nowMs'>;

/** Something that matches, and its page. */
interface Found {
  readonly href: string;
  readonly name: string;
  readonly note?: string;
  /** The typed text names it exactly, so its page opens at once. */
  readonly exact: boolean;
}

interface FoundKind {
  readonly id: string;
  readonly title: string;
  readonly found: readonly Found[];
}

const FIND_QUERY = Type.Object({ q: queryText(MAX_ID_LENGTH) });
const MAX_SHOWN = 20;

async function find(request: PageRequest<{ readonly query: typeof FIND_QUERY }>): Promise<HandlerResult> {
  const text = (request.query.q ?? '').trim();
  const kinds = text === '' ? [] : await search(request, text);
  const exact = kinds.flatMap(({ found }) => found.filter((each) => each.exact));
  const [only] = exact;
  if (only && exact.length === 1) return { redirect: only.href };
  return { page: { title: 'Find', active: undefined, body: renderFound(text, kinds) } };
}

async function search(request: Asked, text: string): Promise<FoundKind[]> {
  const scope = await readScope(request);
  const [calls, keys] = await Promise.all([findCall(request, scope, text), findKeys(request, text)]);
  const kinds: FoundKind[] = [
    { id: 'calls', title: 'Calls', found: calls },
    { id: 'keys', title: 'API keys', found: keys },
    { id: 'accounts', title: 'Accounts', found: findAccounts(scope, text) },
    { id: 'teams', title: 'Teams', found: findTeams(scope, text) },
    { id: 'models', title: 'Models', found: findModels(request, text) },
    { id: 'groups', title: 'Groups', found: await findGroups(request, text) },
    { id: 'channels', title: 'Channels', found: await findChannels(request, text) },
  ];
  return kinds.filter(({ found }) => found.length > 0);
}

/** Only such texts are looked up in the ledger, because that reads all of its records. */
const CALL_ID = /^req_\w+$/;

/** By its whole id, among the ledger's records and the refused calls that are kept. */
async function findCall(request: Asked, scope: UsageScope, callId: string): Promise<Found[]> {
  if (!CALL_ID.test(callId)) return [];
  const query = callQueryOf(scope, { ...NO_FILTER, sinceMs: 0, untilMs: request.nowMs + 1 });
  const call = (await readRecord(request, { ...query, callId })) ?? (await readRefused(request, query, callId));
  if (!call) return [];
  const href = callPath(refOf(call), call, { key: loneKeyName(scope, call.keyUid) });
  return [{ href, name: callId, note: call.account, exact: true }];
}

type Query = ReturnType<typeof callQueryOf>;
interface FoundCall {
  readonly callId: string;
  readonly keyUid: string;
  readonly account: string;
  readonly createdMs?: number;
}

/** Other things are still found while the ledger cannot be read. */
async function readRecord({ deps: { usage } }: Asked, query: Query): Promise<FoundCall | undefined> {
  if (!usage || query.accounts.length === 0) return undefined;
  try {
    return (await usage.page(query, { size: 1 })).calls[0];
  } catch (error) {
    if (error instanceof LedgerUnavailable) return undefined;
    throw error;
  }
}

async function readRefused(request: Asked, query: Query, callId: string): Promise<FoundCall | undefined> {
  const matches = (entry: { readonly callId: string }): boolean => entry.callId === callId;
  const refusals = await readRefusalsOfAll(request, query, { most: 1, matches });
  const [entry] = typeof refusals === 'string' ? [] : refusals.latest;
  return entry && { callId, keyUid: entry.keyUid, account: entry.account };
}

/** By the name, or by the beginning of the key itself; people may paste more of it than its status shows. */
async function findKeys({ person }: Asked, text: string): Promise<Found[]> {
  const { objects } = await person.list('ApiKey');
  return objects.flatMap((key): Found[] => {
    const id = namespacedName(key.metadata);
    const prefix = key.status?.keyPrefix ?? '';
    const isPrefix = prefix !== '' && text.length >= MIN_PREFIX && (prefix.startsWith(text) || text.startsWith(prefix));
    if (!isPrefix && !contains(id, text)) return [];
    const exact = isPrefix ? text.length >= prefix.length : isSame(text, id, key.metadata.name);
    return [{ href: keyPath(key), name: id, ...(prefix !== '' && { note: `${prefix}…` }), exact }];
  });
}

/** "sk-" and a few characters. */
const MIN_PREFIX = 5;

function findAccounts({ accounts }: UsageScope, text: string): Found[] {
  return accounts
    .filter((account) => contains(account, text))
    .map((account) => ({ href: accountPath(refOf({ account })), name: account, exact: isSame(text, account) }));
}

/** A team is a namespace. */
function findTeams({ accounts, keys }: UsageScope, text: string): Found[] {
  const ids = [...accounts, ...[...keys.values()].map(({ id }) => id)];
  const teams = new Set(ids.map((id) => id.slice(0, id.indexOf('/'))));
  return [...teams]
    .filter((team) => contains(team, text))
    .sort()
    .map((team) => ({
      href: withParameters('/keys', { namespace: team }),
      name: team,
      note: 'its keys',
      exact: isSame(text, team),
    }));
}

function findModels({ deps }: Asked, text: string): Found[] {
  return priceListOf(deps)
    .pricing.rows.map(({ modelName }) => modelName)
    .filter((model) => contains(model, text))
    .sort((a, b) => a.length - b.length || compareNames(a, b))
    .map((model) => ({ href: modelPath(model), name: model, exact: isSame(text, model) }));
}

async function findGroups(request: Asked, text: string): Promise<Found[]> {
  return [...(await seenGroupNames(request))]
    .filter(([name, displayName]) => contains(name, text) || contains(displayName, text))
    .map(([name, displayName]) => ({
      href: `/groups#group-${encodeURIComponent(name)}`,
      name: displayName,
      ...(displayName !== name && { note: name }),
      exact: isSame(text, name, displayName),
    }));
}

/** For people who may see routes. */
async function findChannels({ person, deps }: Asked, text: string): Promise<Found[]> {
  if (!(await person.may('list', 'ModelRoute', { namespace: deps.gatewayNamespace }))) return [];
  return deps
    .resources()
    .modelRoutes.filter(({ metadata }) => metadata.namespace === deps.gatewayNamespace)
    .flatMap(({ metadata: { name: route }, spec }) =>
      spec.channels
        .map(({ name }) => `${route}/${name}`)
        .filter((channel) => contains(channel, text))
        .map((channel) => ({ href: routePath(route), name: channel, exact: isSame(text, channel) })),
    );
}

function contains(name: string, text: string): boolean {
  return name.toLowerCase().includes(text.toLowerCase());
}

function isSame(text: string, ...names: readonly string[]): boolean {
  return names.some((name) => name.toLowerCase() === text.toLowerCase());
}

function renderFound(text: string, kinds: readonly FoundKind[]): Html {
  return html`${pageHead({
    title: 'Find',
    lede: 'A request id, the beginning of a key, a team, an account, a model, a group or a channel that you may see.',
  })}
  ${
    text !== '' && kinds.length === 0
      ? html`<p class="none" role="status">
          Nothing that you may see matches <b><bdi>${text}</bdi></b
          >.
        </p>`
      : kinds.map(renderKind)
  }`;
}

function renderKind({ id, title, found }: FoundKind): Html {
  return section(
    { id, title },
    html`<ul class="found">
        ${found.slice(0, MAX_SHOWN).map(
          ({ href, name, note }) =>
            html`<li>
              <a href="${href}"><bdi>${name}</bdi></a> <span class="soft"><bdi>${note ?? ''}</bdi></span>
            </li>`,
        )}
      </ul>
      ${found.length > MAX_SHOWN ? html`<p class="soft">The first ${MAX_SHOWN} of ${found.length}.</p>` : ''}`,
  );
}

const FIND_FORM = Type.Object({ q: formText() });
/** Only the prefix of a key goes into the URL, because the rest is a secret. */
const KEY = /^sk-\S+$/;

/** The field's form is posted, because people paste whole keys. */
function lookUp({ form }: PageRequest<{ readonly form: typeof FIND_FORM }>): Promise<HandlerResult> {
  const text = (form.q ?? '').trim().slice(0, MAX_ID_LENGTH);
  const q = KEY.test(text) ? text.slice(0, KEY_PREFIX_LENGTH) : text;
  return Promise.resolve({ redirect: withParameters(FIND_PATH, { q }) });
}

export const findRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: FIND_PATH, query: FIND_QUERY, handle: find }),
  route({ method: 'POST', path: FIND_PATH, form: FIND_FORM, handle: lookUp }),
];
