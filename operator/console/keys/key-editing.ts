/** An edit of a key: the form against what the object has become, and what is answered to it. */
import type { ApiKey } from '#crds/types.gen.ts';
import { AccessError } from '../access/access.ts';
import { formOfKey, readKeyForm } from '../forms/api-key.ts';
import type { FormFault, KeyField, KeyForm } from '../forms/api-key.ts';
import { mergeForms, patchOfForm, readBase } from '../forms/key-changes.ts';
import type { Merged } from '../forms/key-changes.ts';
import { faultsOfRefusal } from '../forms/key-faults.ts';
import type { Answer, Visit } from '../route.ts';
import { renderEditKey } from '../views/key-edit.ts';
import { keyPath } from '../views/key-links.ts';
import { changeKey, keyOfVisit, sameKeyOfVisit } from './key-of-visit.ts';
import { groupsOfNamespace } from './key-settings.ts';

/** The controls of the edit form at which something can be said. */
const CONTROLS: readonly KeyField[] = ['enabled', 'group', 'limitUsd', 'period', 'whenShort', 'expires', 'models', 'maxConcurrency'];

/** What the form shows. */
interface Shown {
  readonly form: KeyForm;
  readonly faults: readonly FormFault[];
  /** Present: somebody else was faster. */
  readonly others?: Merged['others'];
  readonly status: number;
  /** What was just done. */
  readonly done?: string | undefined;
}

/** The page of one key with its form. */
async function keyPage(visit: Visit, apiKey: ApiKey, returned: Shown): Promise<Answer> {
  const { person, csrf, nowMs, deps } = visit;
  const { namespace, name } = apiKey.metadata;
  const groups = groupsOfNamespace(visit, namespace, apiKey.spec.groupRef.name);
  const [mayChange, mayDelete] = await Promise.all([
    person.may('patch', 'ApiKey', { namespace, name }),
    person.may('delete', 'ApiKey', { namespace, name }),
  ]);
  const body = renderEditKey({
    apiKey, groups, csrf, mayChange, mayDelete, nowMs, place: deps.access.place,
    form: returned.form, faults: returned.faults, others: returned.others ?? [], conflict: returned.others !== undefined, done: returned.done,
  });
  return { page: { title: `${name} · API keys`, active: 'keys', body, scripts: ['moments.js', 'key-form.js'], styles: ['keys.css'] }, status: returned.status };
}

/** What was posted, made true; or the form again, with why not. */
export async function saveKey(visit: Visit): Promise<Answer> {
  const { form: posted } = visit;
  const live = await sameKeyOfVisit(visit, posted.get('uid') ?? '');
  const typed = { ...readKeyForm(posted), ...fixedParts(live) };
  if (String(live.metadata.generation ?? 0) !== posted.get('generation')) return conflictPage(visit, live, typed);
  const { value: spec, faults } = patchOfForm(typed, live);
  if (faults) return keyPage(visit, live, { form: typed, faults, status: 422 });
  if (spec === undefined) return { redirect: `${keyPath(live)}?done=saved` };
  try {
    await changeKey(visit, live, spec);
  } catch (error) {
    if (!(error instanceof AccessError)) throw error;
    return refusedPage(visit, { live, typed, error });
  }
  return { redirect: `${keyPath(live)}?done=saved` };
}

async function refusedPage(visit: Visit, { live, typed, error }: { readonly live: ApiKey; readonly typed: KeyForm; readonly error: AccessError }): Promise<Answer> {
  if (error.fault === 'Conflict') return conflictPage(visit, await sameKeyOfVisit(visit, live.metadata.uid ?? ''), typed);
  if (error.fault !== 'Invalid' && error.fault !== 'Forbidden') throw error;
  return keyPage(visit, live, { form: typed, faults: faultsOfRefusal(error, CONTROLS), status: error.fault === 'Invalid' ? 422 : 403 });
}

/** Nothing is saved: the form goes back on top of what the object is now. */
function conflictPage(visit: Visit, live: ApiKey, typed: KeyForm): Promise<Answer> {
  const { form, others } = mergeForms(readBase(visit.form.get('base') ?? ''), typed, formOfKey(live));
  return keyPage(visit, live, { form, faults: [], others, status: 409 });
}

/** What an edit cannot change, whatever is posted. */
function fixedParts(live: ApiKey): Pick<KeyForm, 'namespace' | 'name' | 'account' | 'keyType' | 'secret'> {
  const { namespace, name, account, keyType, secret } = formOfKey(live);
  return { namespace, name, account, keyType, secret };
}

/** The page as it is. */
export async function openKey(visit: Visit): Promise<Answer> {
  const apiKey = await keyOfVisit(visit);
  const done = visit.query.get('done') === 'saved' ? 'Saved. It is in force on all proxies within seconds.' : undefined;
  return keyPage(visit, apiKey, { form: formOfKey(apiKey), faults: [], status: 200, done });
}
