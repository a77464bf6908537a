/** What the list of keys shows: the keys that the person may see, and what may be done with them. */
import { accountIdOf } from '../../store/resources.ts';
import type { PersonAccess } from '../access/access.ts';
import type { Answer, Visit } from '../route.ts';
import { renderKeys, renderKeysPart } from '../views/keys.ts';
import type { KeysView } from '../views/keys.ts';
import { renderNotAllowed } from '../views/keys-empty.ts';
import type { KeysQuery } from '../views/keys-query.ts';
import { selectKeys } from '../views/keys-selection.ts';
import type { KeyRights } from '../views/keys-table.ts';

const PAGE = { title: 'API keys', active: 'keys', scripts: ['moments.js', 'keys.js'], styles: ['keys.css'] } as const;

/** The whole page, with what was just done. */
export async function keysPage(visit: Visit, query: KeysQuery, done?: string): Promise<Answer> {
  const view = await keysView(visit, query, done);
  if (view === undefined) return { page: { ...PAGE, body: renderNotAllowed(visit.person.person.name, visit.deps.access.place) } };
  visit.deps.usage?.prepare([...new Set(view.selection.rows.map(({ apiKey }) => accountIdOf(apiKey)))]);
  return { page: { ...PAGE, body: renderKeys(view) } };
}

/** What the page's script puts in place; empty where it has it already. */
export async function keysPart(visit: Visit, query: KeysQuery, known: string): Promise<Answer> {
  const view = await keysView(visit, query, undefined);
  if (view === undefined) return { redirect: '/keys' };
  return { fragment: renderKeysPart(view, known) };
}

/** undefined: the person may see none, wherever they are. */
async function keysView({ person, deps, csrf, nowMs }: Visit, query: KeysQuery, done: string | undefined): Promise<KeysView | undefined> {
  const [listing, rights] = await Promise.all([person.list('ApiKey'), keyRights(person)]);
  if (!listing.allowed && rights.create.length === 0) return undefined;
  const selection = selectKeys(listing.objects, query);
  return { selection, query: { ...query, page: selection.page }, rights, csrf, nowMs, place: deps.access.place, done };
}

async function keyRights(person: PersonAccess): Promise<KeyRights> {
  const [create, change, remove] = await Promise.all([person.namespaces('create', 'ApiKey'), person.namespaces('patch', 'ApiKey'), person.namespaces('delete', 'ApiKey')]);
  return { create, change: new Set(change), remove: new Set(remove) };
}
