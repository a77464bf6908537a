/** Creates a key on one page: the last choices are preselected, and all errors are shown at once. */
import type { ApiKey, ApiKeySpec } from '#crds/types.gen.ts';
import { AccessError } from '../access/access.ts';
import {
  copyOfKey,
  errorsOfFields,
  errorsOfRefusal,
  faultsOfNewKey,
  MODEL_BOXES,
  nameOf,
  newKeyForm,
  readKeyForm,
  specOfForm,
} from '../forms/api-key.ts';
import type { FormError, KeyField, KeyForm } from '../forms/api-key.ts';
import { schemaFaults } from '../forms/schema-faults.ts';
import { groupsOfNamespaces } from '../keys/key-choices.ts';
import { renderMayNotCreate, renderNewKey, renderNoAccount } from '../keys/new-key-form.ts';
import { idOf, latestKey, payersOf, defaultGroup, defaultPayer } from '../keys/payers.ts';
import type { Payer } from '../keys/payers.ts';
import { createdPath, requestedKey } from '../keys/requested-key.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { RATE_FIELDS } from '../views/rate-limits.ts';

export const keyNewRoutes: readonly ConsoleRoute[] = [
  { method: 'GET', path: '/keys/new', handle: newKeyPage },
  { method: 'POST', path: '/keys/new', repeated: MODEL_BOXES, handle: createKey },
];

/** The controls of the form that can show an error. */
const CONTROLS: readonly KeyField[] = [
  'namespace',
  'name',
  'account',
  'enabled',
  'group',
  'limitUsd',
  'period',
  'timeZone',
  'whenShort',
  'expires',
  'models',
  'maxConcurrency',
  ...RATE_FIELDS,
  'keyType',
  'secret',
];
const PAGE = { title: 'Create a key', active: 'keys', styles: ['keys.css'] } as const;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Where the person may create keys, and what is there to choose from. */
interface Choices {
  readonly namespaces: readonly string[];
  /** undefined: the person may not see accounts. */
  readonly payers: readonly Payer[] | undefined;
  /** What the person did last. */
  readonly latest: ApiKey | undefined;
}

/** The form with the usual choices, or with the settings of the copied key. */
async function newKeyPage(request: PageRequest): Promise<HandlerResult> {
  const copied = await copiedKey(request);
  if (copied) return returnForm(request, copyOfKey(copied), { errors: [], status: 200 });
  const [wanted = '', account] = (request.query.get('account') ?? request.query.get('namespace') ?? '').split('/', 2);
  const choices = await readChoices(request, wanted);
  if (!choices) return mayNotCreate(request, wanted);
  const place = usualPlace(choices, { namespace: wanted, account }, request.deps.gatewayNamespace);
  const groups = groupsOfNamespaces(request, place.namespace === '' ? choices.namespaces : [place.namespace], '');
  const group = defaultGroup(groups, choices.latest)?.name ?? '';
  return formPage(request, { ...newKeyForm(place.namespace), ...place, group }, { choices, errors: [], status: 200 });
}

/** Where the link names a key to copy. Rejects with AccessError where the person may not see it. */
async function copiedKey(request: PageRequest): Promise<ApiKey | undefined> {
  const [namespace = '', name] = (request.query.get('copy') ?? '').split('/', 2);
  return name === undefined ? undefined : requestedKey({ ...request, params: { namespace, name } });
}

/** What the link asks for: a namespace and perhaps an account in it; empty: nothing. */
interface Wanted {
  readonly namespace: string;
  readonly account: string | undefined;
}

/** The namespace and the account that are chosen already; empty: none. */
function usualPlace(
  choices: Choices,
  wanted: Wanted,
  gatewayNamespace: string,
): Pick<KeyForm, 'namespace' | 'account'> {
  const { payers = [], latest } = choices;
  const isWanted = ({ namespace, name }: Payer): boolean =>
    wanted.namespace === '' ||
    (namespace === wanted.namespace && (wanted.account === undefined || name === wanted.account));
  const payer = defaultPayer(payers.filter(isWanted), latest, gatewayNamespace);
  if (payer) return { namespace: payer.namespace, account: payer.name };
  const namespace = wanted.namespace || usualNamespace(choices, gatewayNamespace) || '';
  // people who may not see accounts have typed one before
  const typed = choices.payers === undefined && latest?.metadata.namespace === namespace;
  return { namespace, account: typed ? latest.spec.accountRef.name : '' };
}

/** The only one, or that of the latest key; the gateway's own only where there is no other. */
function usualNamespace({ namespaces, latest }: Choices, gatewayNamespace: string): string | undefined {
  const others = namespaces.filter((each) => each !== gatewayNamespace);
  const candidates = others.length === 0 ? namespaces : others;
  return candidates.length === 1 ? candidates[0] : candidates.find((each) => each === latest?.metadata.namespace);
}

/** undefined: the person may create keys in no namespace, or not in the one that is asked for. */
async function readChoices({ person, deps }: PageRequest, wanted: string): Promise<Choices | undefined> {
  const known = await person.namespaces('create', 'ApiKey');
  const namespaces = known.includes(wanted) || wanted === '' ? known : [...known, wanted];
  if (namespaces.length === 0) return undefined;
  // the list has the namespaces that the console knows; there may be others
  if (
    !known.includes(wanted) &&
    wanted !== '' &&
    !(NAMESPACE.test(wanted) && (await person.may('create', 'ApiKey', { namespace: wanted })))
  )
    return undefined;
  const [accounts, keys] = await Promise.all([person.list('Account'), person.list('ApiKey')]);
  const own = accounts.objects.filter(({ spec }) => spec.gatewayNamespace === deps.gatewayNamespace);
  return {
    namespaces,
    payers: accounts.allowed ? payersOf(own, namespaces) : undefined,
    latest: latestKey(keys.objects.filter(({ metadata }) => namespaces.includes(metadata.namespace))),
  };
}

/** Creates the posted key, or shows the form again with all its errors. */
async function createKey(request: PageRequest): Promise<HandlerResult> {
  const { person, deps, form: posted, nowMs } = request;
  const form = readKeyForm(posted);
  const name = nameOf(form.name);
  const object = { namespace: form.namespace, name: name || 'unnamed' };
  const refused = (spec: ApiKeySpec): FormError[] =>
    errorsOfFields(schemaFaults(deps.schemas, 'ApiKey', { ...object, spec }), CONTROLS);
  const errors = [
    ...faultsOfNewKey({ ...form, name }, { gatewayNamespace: deps.gatewayNamespace, nowMs, refused }),
    ...(await groupFault(request, form)),
  ];
  const { value: spec } = specOfForm(form, deps.gatewayNamespace);
  if (errors.length > 0 || !spec) return returnForm(request, form, { errors, status: 422 });
  try {
    const created = await person.create('ApiKey', { namespace: form.namespace, name }, spec);
    return { redirect: createdPath(created, 1, nowMs) };
  } catch (error) {
    if (!(error instanceof AccessError) || error.reason === 'SignedOut' || error.reason === 'Unavailable') throw error;
    return returnForm(request, form, { errors: errorsOfRefusal(error, CONTROLS), status: STATUS[error.reason] });
  }
}

/** The list holds groups of several namespaces: the chosen one may not admit the account's. */
async function groupFault(request: PageRequest, { namespace, group }: KeyForm): Promise<FormError[]> {
  if (group === '' || namespace === '') return [];
  const known = groupsOfNamespaces(request, await request.person.namespaces('create', 'ApiKey'), '');
  const chosen = known.find(({ name }) => name === group);
  if (!chosen?.onlyIn || chosen.onlyIn.includes(namespace)) return [];
  return [{ field: 'group', message: `${chosen.displayName} does not admit keys of ${namespace}.` }];
}

const STATUS = { Forbidden: 403, NotFound: 404, Conflict: 409, AlreadyExists: 409, Invalid: 422 } as const;

interface Returned {
  readonly errors: readonly FormError[];
  readonly status: number;
}

async function returnForm(request: PageRequest, form: KeyForm, returned: Returned): Promise<HandlerResult> {
  const choices = await readChoices(request, form.namespace);
  return choices ? formPage(request, form, { ...returned, choices }) : mayNotCreate(request, form.namespace);
}

async function formPage(
  request: PageRequest,
  form: KeyForm,
  { errors, status, choices }: Returned & { readonly choices: Choices },
): Promise<HandlerResult> {
  const { csrf, deps, person } = request;
  const { payers, namespaces } = choices;
  const within = [...new Set(payers?.map(({ namespace }) => namespace) ?? namespaces)];
  const mayCreate = new Set(await person.namespaces('create', 'Account'));
  const where = namespaces.filter((namespace) => mayCreate.has(namespace) && namespace !== deps.gatewayNamespace);
  if (payers?.length === 0) {
    return { page: { ...PAGE, body: renderNoAccount({ namespaces, where, backend: deps.access.backend }) }, status };
  }
  const body = renderNewKey({
    form,
    errors,
    payers,
    namespaces,
    csrf,
    others: [],
    withoutAccount: where.filter((namespace) => !within.includes(namespace)),
    groups: groupsOfNamespaces(request, within.length === 0 ? namespaces : within, form.group),
    chosenPayer: form.account === '' ? '' : idOf({ namespace: form.namespace, name: form.account }),
  });
  return { page: { ...PAGE, body, scripts: ['moments.js', 'key-form.js'] }, status };
}

function mayNotCreate({ deps }: PageRequest, namespace: string): HandlerResult {
  return { page: { ...PAGE, body: renderMayNotCreate(deps.access.backend, namespace) }, status: 403 };
}
