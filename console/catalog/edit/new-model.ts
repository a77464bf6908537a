/** The form that adds a model with its price: an entry of a route, and one of a catalog. */
import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import { isJsonObject, itemsOf } from '#crds/json.ts';
import type { JsonObject } from '#crds/json.ts';
import type { SchemaNode } from '#crds/kind-schema.ts';
import type { ModelRoute, PriceCatalog } from '#crds/types.gen.ts';
import { compareText } from '#web/compare-text.ts';
import { html } from '#web/html.ts';
import type { Html } from '#web/html.ts';
import { AccessError } from '../../access/access.ts';
import type { ApiFieldError } from '../../access/access.ts';
import { selectField, textField } from '../../components/field.ts';
import type { FieldFault } from '../../components/field.ts';
import { renderMissingRight, rightsOf } from '../../components/missing-right.ts';
import { NEW_MODEL_PATH, modelPath } from '../../paths.ts';
import { route } from '../../route.ts';
import type { ConsoleRoute, HandlerResult, PageRequest } from '../../route.ts';
import { translateEdits } from '../compute-change.ts';
import type { EditedObject } from '../compute-change.ts';
import { checkEdit, mergePatchTo, patchOf } from './edited-object.ts';
import { editPage } from './edit-page.ts';
import { faultOf, fieldsOf, readValue } from './fields.ts';
import type { Posted, SchemaField } from './fields.ts';
import { changeEntries } from './list-buttons.ts';
import { indexOf, MODEL_PLACE, PRICE_PLACE, schemaOf, specOf, withoutProperties, withPart } from './places.ts';
import type { Place } from './places.ts';
import { previewOf } from './preview-of.ts';

const FORM = Type.Record(Type.String(), Type.String());
type PostRequest = PageRequest<{ readonly form: typeof FORM }>;

/** The objects that the model can be added to. */
interface Choices {
  readonly routes: readonly ModelRoute[];
  readonly catalogs: readonly PriceCatalog[];
}

/** What was typed. */
interface Typed {
  readonly name: string;
  readonly route: string;
  readonly catalog: string;
  /** Without the name. */
  readonly model: JsonObject;
  readonly price: JsonObject;
}

interface Outcome {
  readonly errors: readonly FieldFault[];
  readonly status: number;
  readonly preview?: Html;
}

/** One of the two entries, and the object that it goes into. */
interface Addition {
  /** The first part of its fields' names. */
  readonly prefix: 'model' | 'price';
  readonly place: Place;
  readonly live: EditedObject;
  readonly entry: JsonObject;
}

async function showForm(request: PageRequest): Promise<HandlerResult> {
  const { routes, catalogs } = await readChoices(request);
  const typed = {
    name: '',
    route: routes[0]?.metadata.name ?? '',
    catalog: catalogs[0]?.metadata.name ?? '',
    model: {},
    price: { quotaType: 'Token' },
  };
  return formPage(request, { routes, catalogs }, typed, { errors: [], status: 200 });
}

async function postForm(request: PostRequest): Promise<HandlerResult> {
  const choices = await readChoices(request);
  const posted = new Map(Object.entries(request.form));
  const entries = changeEntries(posted);
  const typed = readTyped(request, entries ?? posted);
  if (entries) return formPage(request, choices, typed, { errors: [], status: 200 });
  const additions = additionsOf(choices, typed);
  const { errors, objects } = await checkAll(request, additions, typed);
  if (errors.length > 0) return formPage(request, choices, typed, { errors, status: 422 });
  if (posted.get('do') === 'save') return save(request, additions, { choices, typed });
  const { deps, nowMs } = request;
  const edits = translateEdits(objects, { ...deps, resources: deps.resources(), nowMs });
  if ('mistakes' in edits) {
    const mistakes = edits.mistakes.map((message) => ({ field: undefined, message }));
    return formPage(request, choices, typed, { errors: mistakes, status: 422 });
  }
  const patches = additions.map(({ place, live, entry }) =>
    patchOf({ place, ref: refOf(live), before: specOf(live), after: withEntry(place, live, entry), index: undefined }),
  );
  const after = Object.fromEntries(additions.map(({ prefix, entry }) => [prefix, entry]));
  const preview = await previewOf(request, edits, { before: {}, after, patches });
  return formPage(request, choices, typed, { errors: [], status: 200, preview });
}

/** The price first: a price without a model changes nothing. What is there already is not written again. */
async function save(
  request: PostRequest,
  additions: readonly Addition[],
  { choices, typed }: { readonly choices: Choices; readonly typed: Typed },
): Promise<HandlerResult> {
  for (const { prefix, place, live, entry } of additions.toSorted((a, b) => compareText(b.prefix, a.prefix))) {
    if (isThere(live, entry)) continue;
    const { uid = '', generation = 0 } = live.metadata;
    const patch = { spec: mergePatchTo(specOf(live), withEntry(place, live, entry)) };
    try {
      await request.person.change(place.kind, refOf(live), { uid, generation, patch });
    } catch (error) {
      if (!(error instanceof AccessError) || error.reason === 'SignedOut') throw error;
      const errors = [{ field: undefined, message: `The ${prefix} is not saved: ${error.message}` }];
      return formPage(request, choices, typed, { errors, status: error.reason === 'Conflict' ? 409 : 422 });
    }
  }
  return { redirect: modelPath(typed.name) };
}

/** The routes and catalogs that the person may read. Rejects with NotFound where there is none to add a model to. */
async function readChoices({ person, deps: { gatewayNamespace } }: PageRequest): Promise<Choices> {
  const [routes, catalogs] = await Promise.all([person.list('ModelRoute'), person.list('PriceCatalog')]);
  const own = <O extends EditedObject>(objects: readonly O[]): O[] =>
    objects
      .filter(({ metadata }) => metadata.namespace === gatewayNamespace)
      .sort((a, b) => compareText(a.metadata.name, b.metadata.name));
  const choices = {
    routes: own(routes.objects),
    catalogs: own(catalogs.objects).filter(({ spec }) => spec.purpose !== 'Costs'),
  };
  if (choices.routes.length === 0 || choices.catalogs.length === 0)
    throw new AccessError('NotFound', 'A model is added to a ModelRoute and a PriceCatalog. Create these first.');
  return choices;
}

/** Whether the person may add models: who may change routes and catalogs. */
export async function mayAddModels({
  person,
  deps: { gatewayNamespace: namespace },
}: Pick<PageRequest, 'person' | 'deps'>): Promise<boolean> {
  if (person.ownKey) return false;
  const may = await Promise.all([
    person.may('patch', 'ModelRoute', { namespace }),
    person.may('patch', 'PriceCatalog', { namespace }),
  ]);
  return may.every((each) => each);
}

function readTyped(request: PageRequest, posted: Posted): Typed {
  const text = (name: string): string => (posted.get(name) ?? '').trim();
  const part = (prefix: Addition['prefix'], place: Place): JsonObject => {
    const value = readValue(nodeOf(request, place), [prefix], posted);
    return isJsonObject(value) ? value : {};
  };
  return {
    name: text('name'),
    route: text('route'),
    catalog: text('catalog'),
    model: part('model', MODEL_PLACE),
    price: part('price', PRICE_PLACE),
  };
}

/** The schema of an entry without its name, which both have from one field. */
function nodeOf({ deps }: Pick<PageRequest, 'deps'>, place: Place): SchemaNode {
  return withoutProperties(schemaOf(deps.schemas, place, false), ['name']);
}

function additionsOf(
  { routes, catalogs }: Choices,
  { name, route: routeName, catalog, model, price }: Typed,
): Addition[] {
  const into = <O extends EditedObject>(objects: readonly O[], wanted: string): O | undefined =>
    objects.find(({ metadata }) => metadata.name === wanted) ?? objects[0];
  const [modelRoute, priceCatalog] = [into(routes, routeName), into(catalogs, catalog)];
  if (!modelRoute || !priceCatalog) return [];
  return [
    { prefix: 'model', place: MODEL_PLACE, live: modelRoute, entry: { name, ...model } },
    { prefix: 'price', place: PRICE_PLACE, live: priceCatalog, entry: { name, ...price } },
  ];
}

/** All errors at once. */
async function checkAll(
  request: PageRequest,
  additions: readonly Addition[],
  typed: Typed,
): Promise<{ readonly errors: readonly FieldFault[]; readonly objects: readonly EditedObject[] }> {
  const errors: FieldFault[] = [];
  const objects: EditedObject[] = [];
  for (const { prefix, place, live, entry } of additions) {
    if (isThere(live, entry)) continue;
    if (indexOf('models', specOf(live), typed.name) !== undefined) {
      errors.push({
        field: 'name',
        message: `${place.kind} ${live.metadata.name} already has a ${prefix} of this name.`,
      });
      continue;
    }
    const checked = await checkEdit(
      { kind: place.kind, ref: refOf(live), spec: withEntry(place, live, entry) },
      request.deps,
    );
    if ('object' in checked) objects.push(checked.object);
    else
      errors.push(...checked.faults.map((fault) => errorOf(fault, prefix, shownFields(request, place, prefix, typed))));
  }
  return { errors: withoutRepeats(errors), objects };
}

/** Both objects say the same of the name. */
function withoutRepeats(errors: readonly FieldFault[]): FieldFault[] {
  return errors.filter(
    (error, index) => !(error.field === 'name' && errors.findIndex(({ field }) => field === 'name') < index),
  );
}

function errorOf({ path, message }: ApiFieldError, prefix: string, fields: readonly SchemaField[]): FieldFault {
  const own = path.replace(/^spec\.models\[\d+\]/, prefix);
  return own === `${prefix}.name` ? { field: 'name', message } : faultOf(fields, { path: own, message });
}

function shownFields(
  request: Pick<PageRequest, 'deps'>,
  place: Place,
  prefix: Addition['prefix'],
  typed: Typed,
): SchemaField[] {
  return fieldsOf(nodeOf(request, place), typed[prefix], [prefix]);
}

function isThere(live: EditedObject, entry: JsonObject): boolean {
  return itemsOf(specOf(live)['models']).some((each) => isDeepStrictEqual(each, entry));
}

function withEntry(place: Place, live: EditedObject, entry: JsonObject): JsonObject {
  return withPart(place, specOf(live), { index: undefined, part: entry });
}

function refOf({ metadata: { namespace, name } }: EditedObject) {
  return { namespace, name };
}

async function formPage(
  request: PageRequest,
  choices: Choices,
  typed: Typed,
  outcome: Outcome,
): Promise<HandlerResult> {
  const { deps, person, csrf } = request;
  const { errors } = outcome;
  const named = (objects: readonly EditedObject[]) =>
    objects.map(({ metadata: { name } }) => ({ value: name, label: name }));
  const head = html`${textField({
    field: 'name',
    label: 'Name',
    hint: 'Exactly as clients send it. It is case-sensitive.',
    value: typed.name,
    errors,
    attributes: html`type="text" autocomplete="off" spellcheck="false" required`,
  })}
  ${selectField({ field: 'route', label: 'Route', hint: 'Its channels serve the model.', value: typed.route, errors, options: named(choices.routes) })}
  ${selectField({ field: 'catalog', label: 'Price catalog', value: typed.catalog, errors, options: named(choices.catalogs) })}`;
  return editPage({
    ...outcome,
    place: { above: { path: '/models', label: 'Models' }, active: 'models' },
    title: 'Add a model',
    lede: 'A model is an entry of a route, which serves it, and one of a catalog, which prices it.',
    action: NEW_MODEL_PATH,
    csrf,
    hidden: {},
    head,
    parts: [
      { title: 'Price', place: PRICE_PLACE, fields: shownFields(request, PRICE_PLACE, 'price', typed) },
      { title: 'Model', place: MODEL_PLACE, fields: shownFields(request, MODEL_PLACE, 'model', typed) },
    ],
    preview: outcome.preview,
    done: undefined,
    missing: (await mayAddModels(request))
      ? undefined
      : renderMissingRight(rightsOf(deps.access.backend, person), 'patch', {
          kind: 'modelroutes',
          namespace: deps.gatewayNamespace,
        }),
  });
}

export const newModelRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: NEW_MODEL_PATH, handle: showForm }),
  route({ method: 'POST', path: NEW_MODEL_PATH, form: FORM, handle: postForm }),
];
