/** Rotates a key: the page first asks how long the old one keeps working. */
import type { ApiKey } from '#crds/types.gen.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { secretNameOf } from '../../operator/store/key-secret.ts';
import { AccessError } from '../access/access.ts';
import { errorsOfRefusal } from './api-key.ts';
import type { FormError } from './api-key.ts';
import { FIELD_LABELS } from './key-form.ts';
import { renderPrevious } from './overview-view.ts';
import { changeKey, renderKeyHead, requestedKey, requestedKeyWithUid } from './requested-key.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { errorSummary, renderErrors, fieldId, describedBy } from '../components/field.ts';
import { csrfField } from '../components/form.ts';
import { createdPath, keyPath } from '../paths.ts';

export const keyRotateRoutes: readonly ConsoleRoute[] = [
  {
    method: 'GET',
    path: '/keys/:namespace/:name/rotate',
    handle: async (request) => rotatePage(request, await requestedKey(request)),
  },
  { method: 'POST', path: '/keys/:namespace/:name/rotate', handle: rotateKey },
];

/** The page that asks how long the old key keeps working. */
function rotatePage(
  { csrf, nowMs }: PageRequest,
  apiKey: ApiKey,
  returned?: { readonly overlap: string; readonly errors: readonly FormError[]; readonly status: number },
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
async function rotateKey(request: PageRequest): Promise<HandlerResult> {
  const { form, nowMs } = request;
  const live = await requestedKeyWithUid(request, form.get('uid') ?? '');
  const overlap = form.get('overlap') ?? '';
  if (form.get('rotation') !== String(live.spec.key.rotation))
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
  request: PageRequest,
  live: ApiKey,
  { overlap, error }: { readonly overlap: string; readonly error: AccessError },
): Promise<HandlerResult> {
  if (error.reason === 'Invalid')
    return rotatePage(request, live, { overlap, errors: errorsOfRefusal(error, ['overlap']), status: 422 });
  if (error.reason !== 'Conflict') throw error;
  const now = await requestedKeyWithUid(request, live.metadata.uid ?? '');
  return rotatePage(request, now, { overlap, errors: [{ field: undefined, message: CHANGED }], status: 409 });
}

const FASTER = 'Somebody else has rotated this key meanwhile. Rotate it once more only if you need yet another key.';

const CHANGED =
  'Somebody else changed this key at the same moment. Nothing was changed by you: look once more, and ' +
  'send the form again.';

interface RotateView {
  readonly apiKey: ApiKey;
  /** What is chosen, in seconds as typed. */
  readonly overlap: string;
  readonly errors: readonly FormError[];
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
  const { apiKey, errors, csrf } = view;
  const { name, namespace, uid } = apiKey.metadata;
  const { prefix, old } = { prefix: apiKey.status?.keyPrefix, old: renderPrevious(apiKey, view.nowMs) };
  return html`${renderKeyHead({
      title: html`Rotate <bdi>${name}</bdi>`,
      here: 'Rotate',
      above: {
        path: keyPath(apiKey),
        label: name,
      },
      lede: html`API key in the namespace <bdi>${namespace}</bdi>`,
    })}
    ${errorSummary(errors, (field) => FIELD_LABELS[field])}
    <form class="form" id="rotate-form" method="post" action="${keyPath(apiKey, 'rotate')}">
      ${csrfField(csrf)}
      <input type="hidden" name="uid" value="${uid ?? ''}" />
      <input type="hidden" name="rotation" value="${apiKey.spec.key.rotation}" />
      <p>
        The gateway makes a new key in place of
        ${prefix === undefined ? 'the one in force' : html`<code>${prefix}…</code>`} and shows it to you once. Limits,
        spending and everything else stay as they are.
      </p>
      <fieldset class="choices" id="${fieldId('overlap')}" tabindex="-1" ${describedBy('overlap', errors, false)}>
        <legend>How long should the old key keep working?</legend>
        ${choices(view.overlap).map(
          ([seconds, label, note]) =>
            html`<label class="choice">
              <input
                type="radio"
                name="overlap"
                value="${seconds}"
                ${flag('checked', String(seconds) === view.overlap)}
              />
              <span>${label}${note === '' ? NOTHING : html`<small>${note}</small>`}</span>
            </label>`,
        )}
        ${renderErrors('overlap', errors)}
      </fieldset>
      ${old === NOTHING ? NOTHING : html`<dl class="facts">${old}</dl>`}
      <div class="form-actions">
        <button type="submit" class="button primary">Make a new key</button>
        <a class="button" href="${keyPath(apiKey)}">Cancel</a>
      </div>
    </form>`;
}

/** The gateway cannot replace a key that the person provided. */
function renderRotateProvided(apiKey: ApiKey, secretName: string): Html {
  const { name } = apiKey.metadata;
  return html`${renderKeyHead({
      title: html`Rotate <bdi>${name}</bdi>`,
      here: 'Rotate',
      above: { path: keyPath(apiKey), label: name },
    })}
    <div class="empty" id="provided">
      <h2>This key is your own</h2>
      <p>
        To renew it, write another one into the entry <code>apiKey</code> of the Secret <code>${secretName}</code>. The
        old one stops working at once.
      </p>
      <div class="actions">
        <a class="button" href="${keyPath(apiKey)}">Back to the key</a>
      </div>
    </div>`;
}

/** The usual choices, and the key's own or a typed one. */
function choices(overlap: string): readonly (readonly [number | string, string, string])[] {
  if (OVERLAPS.some(([seconds]) => String(seconds) === overlap)) return OVERLAPS;
  return [...OVERLAPS, [overlap, `${overlap} seconds`, '']];
}
