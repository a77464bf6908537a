/** Creates an account, for people who may; leads back to the key that needs it. */
import { Type } from 'typebox';
import type { AccountSpec } from '#crds/types.gen.ts';
import { AccessError } from '../access/access.ts';
import type { ApiFieldError } from '../access/access.ts';
import { schemaFaults } from '../queries/schema-faults.ts';
import { formText, queryText } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import { GRANT_FORM, grantOf, parseGrantForm } from './grants.ts';
import { renderMayNotCreateAccount, renderNewAccount } from './new-account-form.ts';
import type { AccountError, AccountField, AccountForm } from './new-account-form.ts';
import { accountPath } from '../paths.ts';
import { nameOf } from '../queries/object-name.ts';
import { fieldMessage, withPath } from '../components/field.ts';
import { rightsOf } from '../components/missing-right.ts';

const NEW_ACCOUNT_QUERY = Type.Object({
  namespace: queryText(),
  /** "key": a key for the account is created next. */
  next: queryText(),
});
const NEW_ACCOUNT_FORM = Type.Object({ ...GRANT_FORM.properties, namespace: formText(), next: formText() });

export const accountNewRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: '/wallet/new', query: NEW_ACCOUNT_QUERY, handle: newAccountPage }),
  route({ method: 'POST', path: '/wallet/new', form: NEW_ACCOUNT_FORM, handle: createAccount }),
];

const PAGE = { title: 'Create an account', active: 'wallet', styles: ['wallet.css'], scripts: ['wallet.js'] } as const;
const FIRST_NAME = 'main';
const FIRST_GRANT = 'welcome';
const STATUS = { Forbidden: 403, NotFound: 404, Conflict: 409, AlreadyExists: 409, Invalid: 422 } as const;

/** A namespace that has none is chosen, and the usual name. */
async function newAccountPage(
  request: PageRequest<{ readonly query: typeof NEW_ACCOUNT_QUERY }>,
): Promise<HandlerResult> {
  const { query, person, deps } = request;
  const [namespaces, { objects }] = await Promise.all([creatable(request), person.list('Account')]);
  const taken = new Set(objects.map(({ metadata }) => metadata.namespace));
  const free = namespaces.filter((each) => !taken.has(each) && each !== deps.gatewayNamespace);
  const wanted = query.namespace ?? '';
  const usual = namespaces.length === 1 ? namespaces[0] : free.length === 1 ? free[0] : undefined;
  const namespace = namespaces.includes(wanted) ? wanted : (usual ?? '');
  const form: AccountForm = {
    namespace,
    name: namespace !== '' && taken.has(namespace) ? '' : FIRST_NAME,
    usd: '',
    reason: '',
    next: query.next === 'key' ? 'key' : 'account',
  };
  return formPage(request, form, { errors: [], status: 200 });
}

/** The gateway's own namespace comes last: tenants' accounts are not there as a rule. */
async function creatable({ person, deps }: PageRequest): Promise<string[]> {
  const namespaces = await person.namespaces('create', 'Account');
  const own = namespaces.filter((each) => each === deps.gatewayNamespace);
  return [...namespaces.filter((each) => each !== deps.gatewayNamespace), ...own];
}

async function createAccount(request: PageRequest<{ readonly form: typeof NEW_ACCOUNT_FORM }>): Promise<HandlerResult> {
  const { person, form: posted } = request;
  const { usd, reason } = parseGrantForm(posted);
  const form: AccountForm = {
    namespace: (posted.namespace ?? '').trim(),
    name: (posted.name ?? '').trim(),
    usd,
    reason,
    next: posted.next === 'key' ? 'key' : 'account',
  };
  const name = nameOf(form.name);
  const spec = specOf(request, form);
  const errors = faultsOf(request, { ...form, name }, spec);
  if (errors.length > 0) return formPage(request, form, { errors, status: 422 });
  try {
    await person.create('Account', { namespace: form.namespace, name }, spec);
  } catch (error) {
    if (!(error instanceof AccessError) || error.reason === 'SignedOut' || error.reason === 'Unavailable') throw error;
    return formPage(request, form, { errors: errorsOf(error), status: STATUS[error.reason] });
  }
  const ref = { namespace: form.namespace, name };
  return {
    redirect:
      form.next === 'key'
        ? `/keys/new?account=${encodeURIComponent(`${ref.namespace}/${ref.name}`)}`
        : accountPath(ref),
  };
}

function specOf({ deps, person, nowMs }: PageRequest, { usd, reason }: AccountForm): AccountSpec {
  const grant = grantOf({ name: FIRST_GRANT, usd, reason }, { grantedBy: person.person.name, nowMs });
  return { gatewayNamespace: deps.gatewayNamespace, ...(usd === '' ? {} : { grants: [grant] }) };
}

/** All errors at once: what is missing, and what the API would refuse. */
function faultsOf({ deps }: PageRequest, form: AccountForm, spec: AccountSpec): AccountError[] {
  const { namespace, name, usd, reason } = form;
  const errors: AccountError[] = [
    ...(namespace === '' ? [{ field: 'namespace', message: 'Choose a namespace.' } as const] : []),
    ...(name === '' ? [{ field: 'name', message: 'Enter a name, such as main.' } as const] : []),
    ...(usd.startsWith('-')
      ? [{ field: 'usd', message: 'An account begins with credit, or with none.' } as const]
      : []),
    ...(usd === '' && reason !== '' ? [{ field: 'usd', message: 'Enter the credit that this is for.' } as const] : []),
  ];
  const object = { namespace, name: name === '' ? 'unnamed' : name, spec };
  return [...errors, ...schemaFaults(deps.schemas, 'Account', object).map(errorAt)];
}

function errorsOf(error: AccessError): AccountError[] {
  if (error.fields.length > 0) return error.fields.map(errorAt);
  return [{ field: error.reason === 'AlreadyExists' ? 'name' : undefined, message: error.message }];
}

function errorAt(error: ApiFieldError): AccountError {
  const field = CONTROLS.find(([pattern]) => pattern.test(error.path))?.[1];
  return { field, message: field === undefined ? withPath(error) : fieldMessage(error) };
}

const CONTROLS: readonly (readonly [RegExp, AccountField])[] = [
  [/^metadata\.name$/, 'name'],
  [/^spec\.grants\[[^\]]*\]\.usd$/, 'usd'],
  [/^spec\.grants\[[^\]]*\]\.reason$/, 'reason'],
];

async function formPage(
  request: PageRequest,
  form: AccountForm,
  { errors, status }: { readonly errors: readonly AccountError[]; readonly status: number },
): Promise<HandlerResult> {
  const namespaces = await creatable(request);
  if (namespaces.length === 0)
    return {
      page: { ...PAGE, body: renderMayNotCreateAccount(rightsOf(request.deps.access.backend, request.person)) },
      status: 403,
    };
  return { page: { ...PAGE, body: renderNewAccount({ form, errors, namespaces, csrf: request.csrf }) }, status };
}
