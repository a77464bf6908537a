/** [P] Applies a form's Add and Remove buttons, which are posted, to what was posted with them. */
import { presenceName } from './fields.ts';
import type { Posted } from './fields.ts';

/** What was posted with the entry added or removed; undefined: another button was pressed. */
export function changeEntries(posted: Posted): Posted | undefined {
  const [list, entry] = [posted.get('add'), posted.get('remove')];
  if (list !== undefined) return new Map([...posted, [presenceName(`${list}[${nextIndex(list, posted)}]`), '']]);
  if (entry !== undefined) return new Map([...posted].filter(([name]) => !name.startsWith(entry)));
  return undefined;
}

function nextIndex(list: string, posted: Posted): number {
  const taken = [...posted.keys()]
    .filter((name) => name.startsWith(`${list}[`))
    .map((name) => Number.parseInt(name.slice(list.length + 1), 10));
  return Math.max(-1, ...taken) + 1;
}
