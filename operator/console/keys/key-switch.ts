/** The switch in the list: on and off, without touching what else somebody may have changed. */
import { AccessError } from '../access/access.ts';
import type { Answer, Visit } from '../route.ts';
import { readSwitchValue } from '../views/key-links.ts';
import type { Switched } from '../views/key-links.ts';
import { keysPath, parseKeysQuery } from '../views/keys-query.ts';
import type { KeysQuery } from '../views/keys-query.ts';
import { keysPart } from './key-list.ts';
import { changeKey, sameKeyOfVisit } from './key-of-visit.ts';

/** How often somebody else may be faster before it is given up. */
const ATTEMPTS = 3;

/** Whoever else changes the key meanwhile changes something else: what the switch means is tried on top of it. */
export async function switchKey(visit: Visit): Promise<Answer> {
  const switched = readSwitchValue(visit.form.get('to') ?? '');
  if (switched === undefined) throw new AccessError('Invalid', 'This is no switch of this page. Nothing was changed.');
  for (let attempt = 1; ; attempt++) {
    try {
      await setEnabled(visit, switched);
      return switchedAnswer(visit);
    } catch (error) {
      if (!isConflict(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

async function setEnabled(visit: Visit, { uid, enabled }: Switched): Promise<void> {
  const apiKey = await sameKeyOfVisit(visit, uid);
  if (apiKey.spec.enabled !== enabled) await changeKey(visit, apiKey, { enabled });
}

function isConflict(error: unknown): boolean {
  return error instanceof AccessError && error.fault === 'Conflict';
}

/** Back to the same view, or the list for the script that asked. */
function switchedAnswer(visit: Visit): Promise<Answer> | Answer {
  const view = viewOf(visit.form.get('view') ?? '');
  return visit.form.has('part') ? keysPart(visit, view, '') : { redirect: keysPath(view) };
}

/** Only ever a view of the list, whatever was posted. */
function viewOf(path: string): KeysQuery {
  return parseKeysQuery(new URLSearchParams(path.split('?')[1] ?? ''));
}
