/** The list of API keys, its live part, and its switches. */
import { keysPage, keysPart } from '../keys/key-list.ts';
import { switchKey } from '../keys/key-switch.ts';
import type { ConsoleRoute, Visit } from '../route.ts';
import { parseKeysQuery } from '../views/keys-query.ts';

const OBJECT = /^[a-z0-9][-a-z0-9.]*\/[a-z0-9][-a-z0-9.]*$/;

/** Says what was deleted on the way here: nothing but a name. */
function doneWords({ query }: Visit): string | undefined {
  const deleted = query.get('deleted') ?? '';
  return OBJECT.test(deleted) ? `The key ${deleted} is deleted.` : undefined;
}

export const keysRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/keys',
    handle: (visit) => {
      const query = parseKeysQuery(visit.query);
      const known = visit.query.get('part');
      return known === null ? keysPage(visit, query, doneWords(visit)) : keysPart(visit, query, known);
    },
  },
  { method: 'POST', path: '/keys/:namespace/:name/enabled', handle: switchKey },
];
