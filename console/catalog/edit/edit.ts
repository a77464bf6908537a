/** Forms over the schemas: a group, a route, a catalog, or one model, channel or price in it. */
import { Type } from 'typebox';
import { isJsonObject } from '#crds/json.ts';
import type { JsonObject } from '#crds/json.ts';
import { html, NOTHING } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../../access/access.ts';
import type { ApiFieldError, ObjectRef } from '../../access/access.ts';
import { withPath } from '../../components/field.ts';
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
import { fieldAt, fieldOf, readValue } from './fields.ts';
import type { Posted } from './fields.ts';
import { indexOf, partOf, pathOf, PLACES, schemaOf, specOf, withPart } from './places.ts';
import type { Place } from './places.ts';
import { changeEntries } from './list-buttons.ts';
import { previewOf } from './preview-of.ts';

/** `object`: its name; absent: it is new. `entry`: the one of its list that is edited; absent: it is new. */
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
  if (posted.get('do') === 'save') return save(request, { target, typed, spec });
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

/** Saves what was previewed, or shows the form again with the reason why not. */
async function save(
  request: PostRequest,
  { target, typed, spec }: Draft & { readonly spec: JsonObject },
): Promise<HandlerResult> {
  const { place } = target;
  try {
    await write(request, { target, name: typed.name, spec });
  } catch (error) {
    const status = error instanceof AccessError ? STATUS[error.reason] : undefined;
    if (!(error instanceof AccessError) || status === undefined) throw error;
    return formPage(request, { target, typed }, { errors: errorsOfRefusal(error, request, { target, typed }), status });
  }
  const entry = place.list === undefined ? undefined : typed.part['name'];
  const names = { object: typed.name, ...(typeof entry === 'string' && { entry }) };
  return { redirect: withParameters(`/edit/${place.id}`, { ...names, done: 'saved' }) };
}

interface Written {
  readonly target: Target;
  readonly name: string;
  readonly spec: JsonObject;
}

async function write(
  request: PostRequest,
  { target: { place, live, spec: before }, name, spec }: Written,
): Promise<void> {
  const { person, form, deps } = request;
  const ref = { namespace: deps.gatewayNamespace, name };
  if (!live) return createObject(request, { place, ref, spec });
  const patch = { spec: mergePatchTo(before, spec) };
  await person.change(place.kind, ref, { uid: form['uid'] ?? '', generation: Number(form['generation']), patch });
}

const CHANGED_MEANWHILE =
  'Somebody else has changed it since you opened it. Preview once more to see what yours changes now.';

function errorsOfRefusal(error: AccessError, request: PostRequest, draft: Draft): FieldFault[] {
  if (error.fields.length > 0) return errorsOf(error.fields, request, draft);
  if (error.reason === 'Conflict') return [{ field: undefined, message: CHANGED_MEANWHILE }];
  return [{ field: error.reason === 'AlreadyExists' ? NAME_FIELD : undefined, message: error.message }];
}

/** The schemas have checked the spec. */
async function createObject(
  { person, deps }: Pick<PageRequest, 'person' | 'deps'>,
  { place: { kind }, ref, spec }: { readonly place: Place; readonly ref: ObjectRef; readonly spec: JsonObject },
): Promise<void> {
  const checked = await checkEdit({ kind, ref, spec }, deps);
  if ('faults' in checked) throw new AccessError('Invalid', 'The object is invalid.', { fields: checked.faults });
  await person.create(kind, ref, checked.object.spec);
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
  const schema = deps.schemas.get(place.kind);
  if (!schema) throw new Error(`no schema of ${place.kind}`);
  return { node: schemaOf(place, schema, live === undefined), path: pathOf(place, spec, index) };
}

interface Draft {
  readonly target: Target;
  readonly typed: Typed;
}

function rootOf(request: Pick<PageRequest, 'deps'>, { target, typed }: Draft) {
  const { node, path } = formOf(request, target);
  return fieldOf(node, typed.part, { path, label: target.place.noun, required: true });
}

/** Beside the fields that the form has, and of the whole form otherwise. */
function errorsOf(faults: readonly ApiFieldError[], request: Pick<PageRequest, 'deps'>, draft: Draft): FieldFault[] {
  const root = rootOf(request, draft);
  const fields = root.kind === 'Object' ? root.fields : [];
  return faults.map(({ path, message }) => {
    if (path === NAME_FIELD && !draft.target.live) return { field: NAME_FIELD, message };
    const field = fieldAt(fields, path);
    return { field: field?.name, message: field?.name === path ? message : withPath({ path, message }) };
  });
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
    parts: [{ place, root: rootOf(request, draft) }],
    preview: outcome.preview,
    done: query.done === 'saved' ? `Saved. It is in force on all proxies within seconds.` : undefined,
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
