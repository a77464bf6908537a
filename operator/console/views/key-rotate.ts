/** [P] The page that asks before a key is replaced: how long the old one shall go on working. */
import { html, flag, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import type { ApiKey } from '#crds/types.gen.ts';
import type { FormFault } from '../forms/api-key.ts';
import { csrfField } from './csrf-field.ts';
import { errorSummary, faultsAt, fieldId, tied } from './form-fields.ts';
import { renderPrevious } from './key-at-a-glance.ts';
import { FIELD_LABELS } from './key-form-view.ts';
import { keyPath } from './key-links.ts';
import { renderKeyHead } from './key-page.ts';

interface RotateView {
  readonly apiKey: ApiKey;
  /** What is chosen, in seconds as typed. */
  readonly overlap: string;
  readonly faults: readonly FormFault[];
  readonly csrf: string;
  readonly nowMs: number;
}

const DAY = 86_400;
const OVERLAPS: readonly (readonly [number, string, string])[] = [
  [0, 'Not at all', 'Right for a key that somebody else may know. Programs that have it fail until they get the new one.'],
  [3600, '1 hour', ''],
  [DAY, '1 day', 'Time to give every program the new key.'],
  [7 * DAY, '7 days', ''],
  [30 * DAY, '30 days', ''],
];
/** Chosen where the key says nothing else. */
export const USUAL_OVERLAP = String(DAY);

/** The whole page. */
export function renderRotate(view: RotateView): Html {
  const { apiKey, faults, csrf } = view;
  const { name, namespace, uid } = apiKey.metadata;
  const { prefix, old } = { prefix: apiKey.status?.keyPrefix, old: renderPrevious(apiKey, view.nowMs) };
  return html`${renderKeyHead({ title: html`Rotate <bdi>${name}</bdi>`, here: 'Rotate', above: { path: keyPath(apiKey), label: name }, lede: html`API key in the namespace <bdi>${namespace}</bdi>` })}
${errorSummary(faults, (field) => FIELD_LABELS[field])}
<form class="form" id="rotate-form" method="post" action="${keyPath(apiKey, 'rotate')}">${csrfField(csrf)}<input type="hidden" name="uid" value="${uid ?? ''}"><input type="hidden" name="rotation" value="${apiKey.spec.key.rotation}">
<p>The gateway makes a new key in place of ${prefix === undefined ? 'the one in force' : html`<code>${prefix}…</code>`} and shows it to you once. Limits, spending and everything else stay as they are.</p>
<fieldset class="choices" id="${fieldId('overlap')}" tabindex="-1"${tied('overlap', faults, false)}><legend>How long shall the old key go on working?</legend>
${choices(view.overlap).map(([seconds, label, note]) => html`<label class="choice"><input type="radio" name="overlap" value="${seconds}"${flag('checked', String(seconds) === view.overlap)}><span>${label}${note === '' ? NOTHING : html`<small>${note}</small>`}</span></label>`)}
${faultsAt('overlap', faults)}</fieldset>
${old === NOTHING ? NOTHING : html`<dl class="facts">${old}</dl>`}
<div class="form-actions"><button type="submit" class="button primary">Make a new key</button><a class="button" href="${keyPath(apiKey)}">Cancel</a></div></form>`;
}

/** A key of the person's own making is not the gateway's to replace. */
export function renderRotateProvided(apiKey: ApiKey, secretName: string): Html {
  const { name } = apiKey.metadata;
  return html`${renderKeyHead({ title: html`Rotate <bdi>${name}</bdi>`, here: 'Rotate', above: { path: keyPath(apiKey), label: name } })}
<div class="empty" id="provided"><h2>This key is your own</h2><p>It is renewed by writing another one into the entry <code>apiKey</code> of the Secret <code>${secretName}</code>. The old one stops working at once.</p>
<div class="actions"><a class="button" href="${keyPath(apiKey)}">Back to the key</a></div></div>`;
}

/** One that the key has, or that somebody typed, is a choice too. */
function choices(overlap: string): readonly (readonly [number | string, string, string])[] {
  if (OVERLAPS.some(([seconds]) => String(seconds) === overlap)) return OVERLAPS;
  return [...OVERLAPS, [overlap, `${overlap} seconds`, '']];
}
