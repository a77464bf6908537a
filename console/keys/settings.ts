/** The settings of a key: its form. An edit is compared with what the object has become meanwhile. */
import { Type } from 'typebox';
import type { ApiKey } from '#crds/types.gen.ts';
import { flag, html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../access/access.ts';
import { groupsOfNamespace } from '../queries/group-choices.ts';
import { DONE_QUERY, keyTabPage } from './tabs.ts';
import { changeKey, requestedKey, requestedKeyWithUid } from './requested-key.ts';
import type { KeyRequest } from './requested-key.ts';
import { OBJECT, formText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { schemaFaults } from '../queries/schema-faults.ts';
import { errorSummary } from '../components/field.ts';
import { postForm } from '../components/form.ts';
import { renderMissingRight, rightsOf } from '../components/missing-right.ts';
import type { MissingRight } from '../components/missing-right.ts';
import { keyPath } from '../paths.ts';
import { notice, doneNotice } from '../components/notice.ts';
import { table } from '../components/table.ts';
import {
  EDIT_CONTROLS,
  errorsOfFields,
  errorsOfRefusal,
  formOfKey,
  labelOfField,
  mergeForms,
  KEY_FORM,
  patchOfForm,
  readBase,
  readKeyForm,
  renderFields,
  specOfForm,
  withFixedFields,
  withoutFaults,
  writeBase,
} from './key-form.ts';
import type { ConcurrentChange, FormError, KeyFormView, Merged } from './key-form.ts';
import type { KeyForm } from './fields.ts';
import { EDIT_ROWS } from './fields.ts';

const PATH = '/keys/:namespace/:name/settings';
const EDIT_FORM = Type.Object({
  ...KEY_FORM.properties,
  uid: formText(),
  generation: formText(),
  /** The fields as the person saw them, as JSON. */
  base: formText(),
});

type SettingsRequest = KeyRequest & PageRequest<{ readonly query: typeof DONE_QUERY }>;
type SaveRequest = SettingsRequest & PageRequest<{ readonly form: typeof EDIT_FORM }>;

export const keySettingsRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: PATH, params: OBJECT, query: DONE_QUERY, handle: openKey }),
  route({ method: 'POST', path: PATH, params: OBJECT, query: DONE_QUERY, form: EDIT_FORM, handle: saveKey }),
];

/** What the form shows. */
interface Shown {
  readonly form: KeyForm;
  readonly errors: readonly FormError[];
  /** Present: somebody else has changed the key meanwhile. */
  readonly others?: Merged['others'];
  readonly status: number;
  /** What was just done. */
  readonly done?: string | undefined;
}

/** The tab with the form. */
async function keyPage(request: SettingsRequest, apiKey: ApiKey, returned: Shown): Promise<HandlerResult> {
  const { person, csrf, deps } = request;
  const { namespace, name } = apiKey.metadata;
  const groups = groupsOfNamespace(request, namespace, apiKey.spec.groupRef.name);
  const mayChange = await person.may('patch', 'ApiKey', { namespace, name });
  const body = renderEditKey({
    apiKey,
    groups,
    csrf,
    mayChange,
    missing: rightsOf(deps.access.backend, person),
    form: returned.form,
    errors: returned.errors,
    others: returned.others ?? [],
    conflict: returned.others !== undefined,
    done: returned.done,
  });
  return keyTabPage(request, apiKey, { tab: 'settings', body, scripts: ['key-form.js'], status: returned.status });
}

/** Saves what was posted, or shows the form again with the errors. */
async function saveKey(request: SaveRequest): Promise<HandlerResult> {
  const { form: posted } = request;
  const live = await requestedKeyWithUid(request, posted.uid ?? '');
  const typed = withFixedFields(readKeyForm(posted), formOfKey(live));
  if (String(live.metadata.generation ?? 0) !== posted.generation) return conflictPage(request, live, typed);
  const { value: spec, errors } = patchOfForm(typed, live);
  if (errors) {
    const faults = allFaults(request, live, { typed, own: errors });
    return keyPage(request, live, { form: typed, errors: faults, status: 422 });
  }
  if (spec === undefined) return { redirect: `${keyPath(live, 'settings')}?done=saved` };
  try {
    await changeKey(request, live, spec);
  } catch (error) {
    if (!(error instanceof AccessError)) throw error;
    return refusedPage(request, { live, typed, error });
  }
  const switchedOff = live.spec.enabled && !typed.enabled;
  return { redirect: `${keyPath(live, 'settings')}?done=${switchedOff ? 'off' : 'saved'}` };
}

/** With what the API would refuse beside it. */
function allFaults(
  { deps }: SaveRequest,
  { metadata, spec }: ApiKey,
  { typed, own }: { readonly typed: KeyForm; readonly own: readonly FormError[] },
): FormError[] {
  const { value } = specOfForm(withoutFaults(typed, own), spec.gatewayNamespace);
  const refused = value
    ? errorsOfFields(schemaFaults(deps.schemas, 'ApiKey', { ...metadata, spec: value }), EDIT_CONTROLS)
    : [];
  return [...own, ...refused.filter(({ field }) => field !== undefined && own.every((each) => each.field !== field))];
}

async function refusedPage(
  request: SaveRequest,
  { live, typed, error }: { readonly live: ApiKey; readonly typed: KeyForm; readonly error: AccessError },
): Promise<HandlerResult> {
  if (error.reason === 'Conflict')
    return conflictPage(request, await requestedKeyWithUid(request, live.metadata.uid ?? ''), typed);
  if (error.reason !== 'Invalid' && error.reason !== 'Forbidden') throw error;
  return keyPage(request, live, {
    form: typed,
    errors: errorsOfRefusal(error, EDIT_CONTROLS),
    status: error.reason === 'Invalid' ? 422 : 403,
  });
}

/** Saves nothing: shows the form again, applied to the object as it is now. */
function conflictPage(request: SaveRequest, live: ApiKey, typed: KeyForm): Promise<HandlerResult> {
  const { form, others } = mergeForms(readBase(request.form.base ?? ''), typed, formOfKey(live));
  return keyPage(request, live, { form, errors: [], others, status: 409 });
}

/** The page as it is. */
async function openKey(request: SettingsRequest): Promise<HandlerResult> {
  const apiKey = await requestedKey(request);
  const done = request.query.done === 'saved' ? 'Saved. It is in force on all proxies within seconds.' : undefined;
  return keyPage(request, apiKey, { form: formOfKey(apiKey), errors: [], status: 200, done });
}

interface EditKeyView extends KeyFormView {
  /** The current object, which the form's changes are applied to. */
  readonly apiKey: ApiKey;
  readonly csrf: string;
  readonly mayChange: boolean;
  readonly missing: MissingRight;
  /** The form is shown again because somebody else has changed the key meanwhile. */
  readonly conflict: boolean;
  readonly done: string | undefined;
}

/** Below the tabs. */
function renderEditKey(view: EditKeyView): Html {
  const { errors, conflict, done } = view;
  return html`${doneNotice(done)} ${conflict ? renderConflict(view) : errorSummary(errors, labelOfField)}
    <section aria-label="Settings">${renderForm(view)}</section>`;
}

function renderForm(view: EditKeyView): Html {
  const { apiKey, csrf, mayChange, conflict } = view;
  const {
    metadata: { namespace, uid = '', generation = 0 },
  } = apiKey;
  const settings = keyPath(apiKey, 'settings');
  const readOnly = notice(
    html`You may look at this key, but not change it. ${renderMissingRight(view.missing, 'patch', { namespace })}`,
    { id: 'read-only' },
  );
  const buttons = html`<div class="form-actions">
    <button type="submit" class="button primary">${conflict ? 'Apply on top of the new state' : 'Save'}</button>
    <a class="button" href="${settings}">${conflict ? 'Discard what I typed' : 'Undo changes'}</a>
  </div>`;
  return html`${mayChange ? NOTHING : readOnly}
  ${postForm(
    {
      id: 'key-form',
      action: settings,
      csrf,
      style: 'form key-form',
      hidden: { uid, generation, base: writeBase(formOfKey(apiKey)) },
    },
    html`<fieldset class="form key-fields" ${flag('disabled', !mayChange)}>
      <legend class="vh">Settings of the key</legend>
      ${renderFields(EDIT_ROWS, view)} ${mayChange ? buttons : NOTHING}
    </fieldset>`,
  )}`;
}

/** The other person's changes, field by field, beside what was typed. */
function renderConflict({ others }: EditKeyView): Html {
  const clash = others.some(({ typed }) => typed !== undefined);
  return notice(
    others.length === 0
      ? 'None of the fields below has changed. Nothing of yours is saved yet: look once more, and send the form again.'
      : `Nothing of yours is saved yet. The form shows their changes; ${
          clash ? 'where you both typed, it keeps yours.' : 'what you typed stands on top of them.'
        }`,
    {
      id: 'conflict',
      tone: 'warn',
      role: 'alert',
      style: 'key-conflict',
      title: 'Somebody else has changed this key meanwhile',
      below: others.length === 0 ? NOTHING : renderChanges(others),
    },
  );
}

function renderChanges(others: readonly ConcurrentChange[]): Html {
  return table<ConcurrentChange>(
    [
      { title: 'Field', cell: ({ field }) => labelOfField(field) },
      { title: 'It was', style: 'wrap', cell: ({ was }) => was ?? html`<span class="soft">Unknown</span>` },
      { title: 'They made it', style: 'wrap', cell: ({ now }) => now },
      { title: 'You typed', style: 'wrap', cell: ({ typed }) => typed ?? html`<span class="soft">Nothing</span>` },
    ],
    others,
    {
      label: 'What has changed',
      caption: 'What has changed',
      row: ({ field }) => html`data-field="${field}"`,
    },
  );
}
