/** Forms over the schemas: a group, a route, a catalog, or one model, channel or price in it. */
import { Type } from 'typebox';
import { isJsonObject } from '#crds/json.ts';
import type { JsonObject } from '#crds/json.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../../access/access.ts';
import type { ApiFieldError } from '../../access/access.ts';
import type { FieldFault } from '../../components/field.ts';
import { renderMissingRight, rightsOf } from '../../components/missing-right.ts';
import { editPath, withParameters } from '../../paths.ts';
import type { EditedNames } from '../../paths.ts';
import { queryText } from '../../request-schema.ts';
import { route } from '../../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../../route.ts';
import { translateEdits } from '../compute-change.ts';
import type { EditedObject } from '../compute-change.ts';
import { checkEdit, mergePatchTo, patchOf } from './edited-object.ts';
import { editPage, NAME_FIELD, nameField } from './edit-page.ts';
import { faultOf, fieldsOf, readValue } from './fields.ts';
import type { Posted, SchemaField } from './fields.ts';
import { indexOf, partOf, pathOf, PLACES, schemaOf, specOf, withPart } from './places.ts';
import type { Place } from './places.ts';
import { changeEntries } from './list-buttons.ts';
import { previewOf } from './preview-of.ts';

/** `object`: the name of the object, and `entry`: that of an entry in its list; where one is absent, it is a new one. */
const EDIT_QUERY = Type.Object({ object: queryText(), entry: queryText(), done: queryText() });
/** Named by the paths of the schema's fields. */
const EDIT_FORM = Type.Record(Type.String(), Type.String());

type EditRequest = PageRequest<{ readonly query: typeof EDIT_QUERY }>;
type PostRequest = EditRequest & PageRequest<{ readonly form: typeof EDIT_FORM }>;

const STATUS: Readonly<Partial<Record<AccessError['reason'], number>>> = {
  Forbidden: 403,
  Conflict: 409,
  AlreadyExists: 409,
  Invalid: 422,
};

/** What the form is about. */
interface Target {
  readonly place: Place;
  /** undefined: it is new. */
  readonly live: EditedObject | undefined;
  /** As it is; of an object that is new, nothing. */
  readonly spec: JsonObject;
  /** Of the entry that is edited; undefined: the entry is new, or the place has none. */
  readonly index: number | undefined;
}

/** What was typed. */
interface Typed {
  readonly name: string;
  readonly part: JsonObject;
}

interface Outcome {
  readonly errors: readonly FieldFault[];
  readonly status: number;
  readonly preview?: Html;
}

const NO_OUTCOME: Outcome = { errors: [], status: 200 };

async function showForm(request: EditRequest, place: Place): Promise<HandlerResult> {
  const target = await targetOf(request, place);
  const part = partOf(place, target.spec, target.index);
  const typed = { name: target.live?.metadata.name ?? '', part: isJsonObject(part) ? part : {} };
  return formPage(request, { target, typed }, NO_OUTCOME);
}

async function postForm(request: PostRequest, place: Place): Promise<HandlerResult> {
  const target = await targetOf(request, place);
  const posted = new Map(Object.entries(request.form));
  const entries = changeEntries(posted);
  const typed = readTyped(request, target, entries ?? posted);
  if (entries) return formPage(request, { target, typed }, NO_OUTCOME);
  const spec = withPart(place, target.spec, { index: target.index, part: typed.part });
  const ref = { namespace: request.deps.gatewayNamespace, name: typed.name };
  const checked = await checkEdit({ kind: place.kind, ref, spec }, request.deps);
  if ('faults' in checked) {
    const errors = errorsOf(checked.faults, request, { target, typed });
    return formPage(request, { target, typed }, { errors, status: 422 });
  }
  if (posted.get('do') === 'save') return save(request, { target, typed, spec, object: checked.object });
  const edits = translateEdits([checked.object], {
    ...request.deps,
    resources: request.deps.resources(),
    nowMs: request.nowMs,
  });
  if ('mistakes' in edits) {
    const errors = edits.mistakes.map((message) => ({ field: undefined, message }));
    return formPage(request, { target, typed }, { errors, status: 422 });
  }
  const patch = patchOf({ place, ref, before: target.live && target.spec, after: spec, index: target.index });
  const preview = await previewOf(request, edits, {
    before: partOf(place, target.spec, target.index),
    after: typed.part,
    patches: [patch],
  });
  return formPage(request, { target, typed }, { ...NO_OUTCOME, preview });
}

interface Saved extends Draft {
  /** As typed, and with its defaults. */
  readonly spec: JsonObject;
  readonly object: EditedObject;
}

/** Saves what was previewed, or shows the form again with the reason why not. */
async function save(request: PostRequest, saved: Saved): Promise<HandlerResult> {
  const { target, typed } = saved;
  const { place } = target;
  try {
    await write(request, saved);
  } catch (error) {
    const status = error instanceof AccessError ? STATUS[error.reason] : undefined;
    if (!(error instanceof AccessError) || status === undefined) throw error;
    return formPage(request, { target, typed }, { errors: errorsOfRefusal(error, request, { target, typed }), status });
  }
  const entry = place.list === undefined ? undefined : typed.part['name'];
  const names = { object: typed.name, ...(typeof entry === 'string' && { entry }) };
  return { redirect: withParameters(`/edit/${place.id}`, { ...names, done: 'saved' }) };
}

async function write({ person, form, deps }: PostRequest, { target, typed, spec, object }: Saved): Promise<void> {
  const { place, live, spec: before } = target;
  const ref = { namespace: deps.gatewayNamespace, name: typed.name };
  if (live) {
    const patch = { spec: mergePatchTo(before, spec) };
    await person.change(place.kind, ref, { uid: form['uid'] ?? '', generation: Number(form['generation']), patch });
  } else await person.create(place.kind, ref, object.spec);
}

const CHANGED_MEANWHILE =
  'Somebody else has changed it since you opened it. Preview once more to see what yours changes now.';

function errorsOfRefusal(error: AccessError, request: PostRequest, draft: Draft): FieldFault[] {
  if (error.fields.length > 0) return errorsOf(error.fields, request, draft);
  if (error.reason === 'Conflict') return [{ field: undefined, message: CHANGED_MEANWHILE }];
  return [{ field: error.reason === 'AlreadyExists' ? NAME_FIELD : undefined, message: error.message }];
}

/** Rejects with NotFound or Forbidden. */
async function targetOf(request: EditRequest, place: Place): Promise<Target> {
  const {
    person,
    deps: { gatewayNamespace: namespace },
    query: { object: name = '', entry = '' },
  } = request;
  const { kind, list, noun } = place;
  if (name === '') return newTarget(request, place);
  const live = await person.get(kind, { namespace, name });
  if (!live) throw new AccessError('NotFound', `There is no ${kind} ${name}.`);
  const spec = specOf(live);
  if (list === undefined || entry === '') return { place, live, spec, index: undefined };
  const index = indexOf(list, spec, entry);
  if (index === undefined) throw new AccessError('NotFound', `${kind} ${name} has no ${noun} ${entry}.`);
  return { place, live, spec, index };
}

/** An entry needs an object that it is in. */
async function newTarget({ person, deps }: EditRequest, place: Place): Promise<Target> {
  const { kind, list, noun } = place;
  if (!(await person.may('list', kind, { namespace: deps.gatewayNamespace })))
    throw new AccessError('NotFound', `This page is for people who may list the gateway's ${kind}s.`);
  if (list !== undefined) throw new AccessError('NotFound', `A ${noun} is in a ${kind}. Choose one first.`);
  return { place, live: undefined, spec: {}, index: undefined };
}

function readTyped(request: EditRequest, target: Target, posted: Posted): Typed {
  const { node, path } = formOf(request, target);
  const part = readValue(node, path, posted);
  const name = target.live?.metadata.name ?? (posted.get(NAME_FIELD) ?? '').trim();
  return { name, part: isJsonObject(part) ? part : {} };
}

/** The schema of the form, and the path of its fields. */
function formOf({ deps }: Pick<PageRequest, 'deps'>, { place, live, spec, index }: Target) {
  return { node: schemaOf(deps.schemas, place, live === undefined), path: pathOf(place, spec, index) };
}

interface Draft {
  readonly target: Target;
  readonly typed: Typed;
}

function shownFields(request: Pick<PageRequest, 'deps'>, { target, typed }: Draft): SchemaField[] {
  const { node, path } = formOf(request, target);
  return fieldsOf(node, typed.part, path);
}

function errorsOf(faults: readonly ApiFieldError[], request: Pick<PageRequest, 'deps'>, draft: Draft): FieldFault[] {
  const fields = shownFields(request, draft);
  return faults.map((fault) =>
    fault.path === NAME_FIELD && !draft.target.live
      ? { field: NAME_FIELD, message: fault.message }
      : faultOf(fields, fault),
  );
}

async function formPage(request: EditRequest, draft: Draft, outcome: Outcome): Promise<HandlerResult> {
  const { csrf, query } = request;
  const { target, typed } = draft;
  const { place, live } = target;
  const names = { object: query.object ?? '', entry: query.entry ?? '' };
  const { uid = '', generation = 0 } = live?.metadata ?? {};
  return editPage({
    ...outcome,
    place,
    title: titleOf(target, names),
    lede: ledeOf(target),
    action: editPath(place.id, names),
    csrf,
    hidden: { uid, generation },
    head: live ? NOTHING : nameField(typed.name, outcome.errors),
    parts: [{ place, fields: shownFields(request, draft) }],
    preview: outcome.preview,
    done: query.done === 'saved' ? 'Saved. It is in force on all proxies within seconds.' : undefined,
    missing: await missingRight(request, target),
  });
}

function titleOf({ place: { list, noun }, live, index }: Target, { object, entry }: Required<EditedNames>): string {
  const isNew = list === undefined ? !live : index === undefined;
  return isNew ? `New ${noun}` : `Edit ${noun} ${list === undefined ? object : entry}`;
}

/** undefined: the person may save it. */
async function missingRight(
  { deps, person }: EditRequest,
  { place: { kind }, live }: Target,
): Promise<Html | undefined> {
  const verb = live ? 'patch' : 'create';
  const namespace = deps.gatewayNamespace;
  if (await person.may(verb, kind, { namespace, ...(live && { name: live.metadata.name }) })) return undefined;
  return renderMissingRight(rightsOf(deps.access.backend, person), verb, { kind: `${kind.toLowerCase()}s`, namespace });
}

function ledeOf({ place: { kind, list }, live }: Target): Html {
  const where = live && list !== undefined ? html`In the ${kind} <bdi>${live.metadata.name}</bdi>. ` : NOTHING;
  return html`${where}Nothing is saved before you have seen what it changes.`;
}

export const editRoutes: readonly ConsoleRoute[] = PLACES.flatMap((place) => [
  route({ method: 'GET', path: `/edit/${place.id}`, query: EDIT_QUERY, handle: (request) => showForm(request, place) }),
  route({
    method: 'POST',
    path: `/edit/${place.id}`,
    query: EDIT_QUERY,
    form: EDIT_FORM,
    handle: (request) => postForm(request, place),
  }),
]);
