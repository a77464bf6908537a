/** Creates a key on one page: the last choices are preselected, and all errors are shown at once. */
import { Type } from 'typebox';
import type { ApiKey, ApiKeySpec } from '#crds/types.gen.ts';
import { AccessError } from '../access/access.ts';
import { schemaFaults } from '../queries/schema-faults.ts';
import { groupsOfNamespaces } from '../queries/group-choices.ts';
import { renderMayNotCreate, renderNewKey, renderNoAccount } from './new-key-form.ts';
import { idOf, payersOf, defaultGroup, defaultPayer } from './payers.ts';
import type { Payer } from './payers.ts';
import { readKey } from './requested-key.ts';
import type { LastChoice } from '../session/last-choice.ts';
import { MAX_ID_LENGTH, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { createdPath } from '../paths.ts';
import { nameOf } from '../queries/object-name.ts';
import { rightsOf } from '../components/missing-right.ts';
import {
  copyOfKey,
  errorsOfFields,
  errorsOfRefusal,
  faultsOfNewKey,
  KEY_FORM,
  NEW_CONTROLS,
  newKeyForm,
  readKeyForm,
  specOfForm,
} from './key-form.ts';
import type { FormError } from './key-form.ts';
import type { KeyForm } from './fields.ts';

const NEW_KEY_QUERY = Type.Object({
  /** A namespace, or "namespace/name" of an account in it. */
  account: queryText(MAX_ID_LENGTH),
  namespace: queryText(),
  /** "namespace/name" of a key with the same settings. */
  copy: queryText(MAX_ID_LENGTH),
});

type NewKeyRequest = PageRequest<{ readonly query: typeof NEW_KEY_QUERY }>;

export const keyNewRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: '/keys/new', query: NEW_KEY_QUERY, handle: newKeyPage }),
  route({ method: 'POST', path: '/keys/new', form: KEY_FORM, handle: createKey }),
];

const PAGE = { title: 'Create a key', active: 'keys', styles: ['keys.css'] } as const;
const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Where the person may create keys, and what is there to choose from. */
interface Choices {
  readonly namespaces: readonly string[];
  /** undefined: the person may not see accounts. */
  readonly payers: readonly Payer[] | undefined;
  readonly last: LastChoice | undefined;
}

/** The form with the usual choices, or with the settings of the copied key. */
async function newKeyPage(request: NewKeyRequest): Promise<HandlerResult> {
  const copied = await copiedKey(request);
  if (copied) return returnForm(request, copyOfKey(copied), { errors: [], status: 200 });
  const [wanted = '', account] = (request.query.account ?? request.query.namespace ?? '').split('/', 2);
  const choices = await readChoices(request, wanted);
  if (!choices) return mayNotCreate(request, wanted);
  const place = usualPlace(choices, { namespace: wanted, account }, request.deps.gatewayNamespace);
  const groups = groupsOfNamespaces(request, place.namespace === '' ? choices.namespaces : [place.namespace], '');
  const group = defaultGroup(groups, choices.last)?.name ?? '';
  return formPage(request, { ...newKeyForm(place.namespace), ...place, group }, { choices, errors: [], status: 200 });
}

/** Where the link names a key to copy. Rejects with AccessError where the person may not see it. */
async function copiedKey(request: NewKeyRequest): Promise<ApiKey | undefined> {
  const [namespace = '', name] = (request.query.copy ?? '').split('/', 2);
  return name === undefined ? undefined : readKey(request, { namespace, name });
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
  const { payers = [], last } = choices;
  const isWanted = ({ namespace, name }: Payer): boolean =>
    wanted.namespace === '' ||
    (namespace === wanted.namespace && (wanted.account === undefined || name === wanted.account));
  const payer = defaultPayer(payers.filter(isWanted), last, gatewayNamespace);
  if (payer) return { namespace: payer.namespace, account: payer.name };
  const namespace = wanted.namespace || usualNamespace(choices, gatewayNamespace) || '';
  // people who may not see accounts have typed one before
  const typed = choices.payers === undefined && last?.namespace === namespace;
  return { namespace, account: typed ? last.account : '' };
}

/** The only one, or that of the last key that the person created; the gateway's own only where there is no other. */
function usualNamespace({ namespaces, last }: Choices, gatewayNamespace: string): string | undefined {
  const others = namespaces.filter((each) => each !== gatewayNamespace);
  const candidates = others.length === 0 ? namespaces : others;
  return candidates.length === 1 ? candidates[0] : candidates.find((each) => each === last?.namespace);
}

/** undefined: the person may create keys in no namespace, or not in the one that is asked for. */
async function readChoices({ person, deps, lastChoice }: PageRequest, wanted: string): Promise<Choices | undefined> {
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
  const accounts = await person.list('Account');
  const own = accounts.objects.filter(({ spec }) => spec.gatewayNamespace === deps.gatewayNamespace);
  return {
    namespaces,
    payers: accounts.allowed ? payersOf(own, namespaces) : undefined,
    last: lastChoice(),
  };
}

/** Creates the posted key, or shows the form again with all its errors. */
async function createKey(request: PageRequest<{ readonly form: typeof KEY_FORM }>): Promise<HandlerResult> {
  const { person, deps, form: posted, nowMs } = request;
  const form = readKeyForm(posted);
  const name = nameOf(form.name);
  const object = { namespace: form.namespace, name: name || 'unnamed' };
  const refused = (spec: ApiKeySpec): FormError[] =>
    errorsOfFields(schemaFaults(deps.schemas, 'ApiKey', { ...object, spec }), NEW_CONTROLS);
  const errors = [
    ...faultsOfNewKey({ ...form, name }, { gatewayNamespace: deps.gatewayNamespace, nowMs, refused }),
    ...(await groupFault(request, form)),
  ];
  const { value: spec } = specOfForm(form, deps.gatewayNamespace);
  if (errors.length > 0 || !spec) return returnForm(request, form, { errors, status: 422 });
  try {
    const created = await person.create('ApiKey', { namespace: form.namespace, name }, spec);
    const { namespace, account, group } = form;
    return { redirect: createdPath(created, 1, nowMs), chosen: { namespace, account, group } };
  } catch (error) {
    if (!(error instanceof AccessError) || error.reason === 'SignedOut' || error.reason === 'Unavailable') throw error;
    return returnForm(request, form, { errors: errorsOfRefusal(error, NEW_CONTROLS), status: STATUS[error.reason] });
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
  const where = namespaces.filter((namespace) => mayCreate.has(namespace));
  if (payers?.length === 0) {
    return {
      page: { ...PAGE, body: renderNoAccount({ namespaces, where, missing: rightsOf(deps.access.backend, person) }) },
      status,
    };
  }
  const body = renderNewKey({
    form,
    errors,
    csrf,
    others: [],
    groups: groupsOfNamespaces(request, within.length === 0 ? namespaces : within, form.group),
    accounts: {
      payers,
      namespaces,
      chosenPayer: form.account === '' ? '' : idOf({ namespace: form.namespace, name: form.account }),
      // tenants' accounts are not in the gateway's own namespace as a rule
      withoutAccount: where.filter((each) => !within.includes(each) && each !== deps.gatewayNamespace),
    },
  });
  return { page: { ...PAGE, body, scripts: ['key-form.js'] }, status };
}

function mayNotCreate({ deps, person }: PageRequest, namespace: string): HandlerResult {
  return { page: { ...PAGE, body: renderMayNotCreate(rightsOf(deps.access.backend, person), namespace) }, status: 403 };
}
