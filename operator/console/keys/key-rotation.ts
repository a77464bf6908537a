/** A key's replacement by a new one, and its deletion: each asks first. */
import type { ApiKey } from '#crds/types.gen.ts';
import { secretNameOf } from '../../store/key-secret.ts';
import { AccessError } from '../access/access.ts';
import type { FormFault } from '../forms/api-key.ts';
import { faultsOfRefusal } from '../forms/key-faults.ts';
import type { Answer, Visit } from '../route.ts';
import { renderDelete } from '../views/key-delete.ts';
import { renderRotate, renderRotateProvided, USUAL_OVERLAP } from '../views/key-rotate.ts';
import { changeKey, sameKeyOfVisit } from './key-of-visit.ts';
import { madePath } from './made-key.ts';

/** The question how long the old key shall go on working. */
export function rotatePage({ csrf, nowMs }: Visit, apiKey: ApiKey, returned?: { readonly overlap: string; readonly faults: readonly FormFault[]; readonly status: number }): Answer {
  const { name } = apiKey.metadata;
  const usual = apiKey.spec.key.overlapSeconds > 0 ? String(apiKey.spec.key.overlapSeconds) : USUAL_OVERLAP;
  const body = apiKey.spec.key.type === 'Provided' ? renderRotateProvided(apiKey, secretNameOf(apiKey))
    : renderRotate({ apiKey, csrf, nowMs, overlap: returned?.overlap ?? usual, faults: returned?.faults ?? [] });
  return { page: { title: `Rotate ${name}`, active: 'keys', body, scripts: ['moments.js'], styles: ['keys.css'] }, status: returned?.status ?? 200 };
}

/** One rotation further than the form says; whoever was faster has made a new key already. */
export async function rotateKey(visit: Visit): Promise<Answer> {
  const { form, nowMs } = visit;
  const live = await sameKeyOfVisit(visit, form.get('uid') ?? '');
  const overlap = form.get('overlap') ?? '';
  if (form.get('rotation') !== String(live.spec.key.rotation)) return rotatePage(visit, live, { overlap, faults: [{ field: undefined, message: FASTER }], status: 409 });
  if (!/^\d{1,9}$/.test(overlap)) return rotatePage(visit, live, { overlap, faults: [{ field: 'overlap', message: 'Choose how long the old key shall go on working.' }], status: 422 });
  const rotation = live.spec.key.rotation + 1;
  try {
    await changeKey(visit, live, { key: { rotation, overlapSeconds: Number(overlap) } });
    return { redirect: madePath(live, rotation, nowMs) };
  } catch (error) {
    if (!(error instanceof AccessError)) throw error;
    return refusedRotation(visit, live, { overlap, error });
  }
}

async function refusedRotation(visit: Visit, live: ApiKey, { overlap, error }: { readonly overlap: string; readonly error: AccessError }): Promise<Answer> {
  if (error.fault === 'Invalid') return rotatePage(visit, live, { overlap, faults: faultsOfRefusal(error, ['overlap']), status: 422 });
  if (error.fault !== 'Conflict') throw error;
  const now = await sameKeyOfVisit(visit, live.metadata.uid ?? '');
  return rotatePage(visit, now, { overlap, faults: [{ field: undefined, message: CHANGED }], status: 409 });
}

const FASTER = 'Somebody else has rotated this key meanwhile. Rotate it once more only if you need yet another key.';
const CHANGED = 'Somebody else has changed this key in this moment. Nothing was changed by you: look once more, and send the form again.';

/** The question whether this is the key that is meant. */
export function deletePage({ csrf, deps }: Visit, apiKey: ApiKey, returned?: { readonly typed: string; readonly faults: readonly FormFault[] }): Answer {
  const body = renderDelete({ apiKey, csrf, place: deps.access.place, typed: returned?.typed ?? '', faults: returned?.faults ?? [] });
  return { page: { title: `Delete ${apiKey.metadata.name}`, active: 'keys', body, scripts: ['moments.js'], styles: ['keys.css'] }, status: returned === undefined ? 200 : 422 };
}

/** Deleted only by its name, typed, and only the very object that was shown. */
export async function deleteKey(visit: Visit): Promise<Answer> {
  const { form, person } = visit;
  const live = await sameKeyOfVisit(visit, form.get('uid') ?? '');
  const { namespace, name, uid = '' } = live.metadata;
  const typed = (form.get('confirm') ?? '').trim();
  if (typed !== name) return deletePage(visit, live, { typed, faults: [{ field: 'confirm', message: `Type ${name}, exactly as it stands here. Nothing was deleted.` }] });
  await person.remove('ApiKey', { namespace, name }, uid);
  return { redirect: `/keys?deleted=${encodeURIComponent(`${namespace}/${name}`)}` };
}
