/** Rotates a key: the page first asks how long the old one keeps working. */
import { Type } from 'typebox';
import type { ApiKey } from '#crds/types.gen.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { secretNameOf } from '#objects/key-secret.ts';
import { AccessError } from '../access/access.ts';
import { previousOf } from './overview-view.ts';
import { changeKey, requestedKey, requestedKeyWithUid, renderHeadOf } from './requested-key.ts';
import type { KeyRequest } from './requested-key.ts';
import { formText, OBJECT } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { errorSummary, choiceField, fieldMessage, withPath } from '../components/field.ts';
import type { FieldFault } from '../components/field.ts';
import { postForm, formActions } from '../components/form.ts';
import { createdPath, keyPath } from '../paths.ts';
import { empty } from '../components/page.ts';
import { facts } from '../components/facts.ts';

const PATH = '/keys/:namespace/:name/rotate';
const ROTATE_FORM = Type.Object({
  uid: formText(),
  /** The rotation that the page showed. */
  rotation: formText(),
  /** How long the old key keeps working, in seconds. */
  overlap: formText(),
});

export const keyRotateRoutes: readonly ConsoleRoute[] = [
  route({
    method: 'GET',
    path: PATH,
    params: OBJECT,
    handle: async (request) => rotatePage(request, await requestedKey(request)),
  }),
  route({ method: 'POST', path: PATH, params: OBJECT, form: ROTATE_FORM, handle: rotateKey }),
];

/** The page that asks how long the old key keeps working. */
function rotatePage(
  { csrf, nowMs }: Pick<PageRequest, 'csrf' | 'nowMs'>,
  apiKey: ApiKey,
  returned?: { readonly overlap: string; readonly errors: readonly RotationFault[]; readonly status: number },
): HandlerResult {
  const { name } = apiKey.metadata;
  const usual = apiKey.spec.key.overlapSeconds > 0 ? String(apiKey.spec.key.overlapSeconds) : USUAL_OVERLAP;
  const body =
    apiKey.spec.key.type === 'Provided'
      ? renderRotateProvided(apiKey, secretNameOf(apiKey))
      : renderRotate({ apiKey, csrf, nowMs, overlap: returned?.overlap ?? usual, errors: returned?.errors ?? [] });
  return {
    page: {
      title: `Rotate ${name}`,
      active: 'keys',
      body,
      styles: ['keys.css'],
    },
    status: returned?.status ?? 200,
  };
}

/** Rotates once, unless somebody else has rotated the key since the form was shown. */
async function rotateKey(
  request: KeyRequest & PageRequest<{ readonly form: typeof ROTATE_FORM }>,
): Promise<HandlerResult> {
  const {
    form: { uid = '', overlap = '', rotation: shown },
    nowMs,
  } = request;
  const live = await requestedKeyWithUid(request, uid);
  if (shown !== String(live.spec.key.rotation))
    return rotatePage(request, live, { overlap, errors: [{ field: undefined, message: FASTER }], status: 409 });
  if (!/^\d{1,9}$/.test(overlap))
    return rotatePage(request, live, {
      overlap,
      errors: [{ field: 'overlap', message: 'Choose how long the old key should keep working.' }],
      status: 422,
    });
  const rotation = live.spec.key.rotation + 1;
  try {
    await changeKey(request, live, { key: { rotation, overlapSeconds: Number(overlap) } });
    return { redirect: createdPath(live, rotation, nowMs) };
  } catch (error) {
    if (!(error instanceof AccessError)) throw error;
    return refusedRotation(request, live, { overlap, error });
  }
}

async function refusedRotation(
  request: KeyRequest,
  live: ApiKey,
  { overlap, error }: { readonly overlap: string; readonly error: AccessError },
): Promise<HandlerResult> {
  if (error.reason === 'Invalid') return rotatePage(request, live, { overlap, errors: faultsOf(error), status: 422 });
  if (error.reason !== 'Conflict') throw error;
  const now = await requestedKeyWithUid(request, live.metadata.uid ?? '');
  return rotatePage(request, now, { overlap, errors: [{ field: undefined, message: CHANGED }], status: 409 });
}

const FASTER = 'Somebody else has rotated this key meanwhile. Rotate it once more only if you need yet another key.';

const CHANGED =
  'Somebody else changed this key at the same moment. Nothing was changed by you: look once more, and ' +
  'send the form again.';

type RotationFault = FieldFault<'overlap'>;

function faultsOf({ fields, message }: AccessError): RotationFault[] {
  if (fields.length === 0) return [{ field: undefined, message }];
  return fields.map((fault) =>
    fault.path === 'spec.key.overlapSeconds'
      ? { field: 'overlap', message: fieldMessage(fault) }
      : { field: undefined, message: withPath(fault) },
  );
}

interface RotateView {
  readonly apiKey: ApiKey;
  /** What is chosen, in seconds as typed. */
  readonly overlap: string;
  readonly errors: readonly RotationFault[];
  readonly csrf: string;
  readonly nowMs: number;
}

const DAY = 86_400;
const OVERLAPS: readonly (readonly [number, string, string])[] = [
  [
    0,
    'Not at all',
    'Right for a key that somebody else may know. Programs that have it fail until they get the new one.',
  ],
  [3600, '1 hour', ''],
  [DAY, '1 day', 'Time to give every program the new key.'],
  [7 * DAY, '7 days', ''],
  [30 * DAY, '30 days', ''],
];
/** The default choice if the key states none. */
const USUAL_OVERLAP = String(DAY);

/** The whole page. */
function renderRotate(view: RotateView): Html {
  const { apiKey, errors, csrf, overlap } = view;
  const { name, uid } = apiKey.metadata;
  const prefix = apiKey.status?.keyPrefix;
  const old = previousOf(apiKey, view.nowMs);
  const fields = html`<p>
      The gateway makes a new key in place of
      ${prefix === undefined ? 'the one in force' : html`<code>${prefix}…</code>`} and shows it to you once. Limits,
      spending and everything else stay as they are.
    </p>
    ${choiceField({
      field: 'overlap',
      label: 'How long should the old key keep working?',
      value: overlap,
      errors,
      choices: choices(overlap).map(([seconds, label, note]) => ({ value: String(seconds), label, note })),
    })}
    ${old.length === 0 ? NOTHING : facts(old)} ${formActions({ submit: 'Make a new key', cancel: keyPath(apiKey) })}`;
  return html`${renderHeadOf(apiKey, html`Rotate <bdi>${name}</bdi>`, 'Rotate')}
  ${errorSummary(errors, () => 'The old key')}
  ${postForm(
    {
      id: 'rotate-form',
      action: keyPath(apiKey, 'rotate'),
      csrf,
      hidden: { uid: uid ?? '', rotation: apiKey.spec.key.rotation },
    },
    fields,
  )}`;
}

/** The gateway cannot replace a key that the person provided. */
function renderRotateProvided(apiKey: ApiKey, secretName: string): Html {
  return html`${renderHeadOf(apiKey, html`Rotate <bdi>${apiKey.metadata.name}</bdi>`, 'Rotate')}
  ${empty(
    {
      id: 'provided',
      title: 'This key is your own',
      actions: html`<a class="button" href="${keyPath(apiKey)}">Back to the key</a>`,
    },
    html`<p>
      To renew it, write another one into the entry <code>apiKey</code> of the Secret <code>${secretName}</code>. The
      old one stops working at once.
    </p>`,
  )}`;
}

/** The usual choices, and the key's own or a typed one. */
function choices(overlap: string): readonly (readonly [number | string, string, string])[] {
  if (OVERLAPS.some(([seconds]) => String(seconds) === overlap)) return OVERLAPS;
  return [...OVERLAPS, [overlap, `${overlap} seconds`, '']];
}
