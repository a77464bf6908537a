/** A new key: the namespace, the form, and the object that comes of it. */
import { AccessError } from '../access/access.ts';
import { newKeyForm, readKeyForm, specOfForm } from '../forms/api-key.ts';
import type { FormFault, KeyField, KeyForm } from '../forms/api-key.ts';
import { faultsOfRefusal } from '../forms/key-faults.ts';
import type { Answer, Visit } from '../route.ts';
import { renderMayNotCreate, renderNamespaceChoice, renderNewKey } from '../views/key-new.ts';
import { accountsOfNamespace, groupsOfNamespace } from './key-settings.ts';
import { madePath } from './made-key.ts';

/** The controls of the form at which something can be said. */
const CONTROLS: readonly KeyField[] = ['name', 'account', 'enabled', 'group', 'limitUsd', 'period', 'whenShort', 'expires', 'models', 'maxConcurrency', 'keyType', 'secret'];
const PAGE = { title: 'Create a key', active: 'keys', styles: ['keys.css'] } as const;

/** The form, or the question in which namespace. */
export async function newKeyPage(visit: Visit): Promise<Answer> {
  const namespaces = await visit.person.namespaces('create', 'ApiKey');
  const wanted = visit.query.get('namespace') ?? (namespaces.length === 1 ? namespaces[0] : undefined);
  if (wanted === undefined && namespaces.length > 0) return { page: { ...PAGE, body: renderNamespaceChoice(namespaces, undefined) } };
  return formPage(visit, newKeyForm(wanted ?? ''), { faults: [], status: 200, namespaces });
}

/** What was posted, created; or the form again, with why not. */
export async function createKey(visit: Visit): Promise<Answer> {
  const { person, deps, form: posted, nowMs } = visit;
  const form = readKeyForm(posted);
  const { value: spec, faults } = specOfForm(form, deps.gatewayNamespace);
  if (faults) return returnForm(visit, form, { faults, status: 422 });
  try {
    const created = await person.create('ApiKey', { namespace: form.namespace, name: form.name }, spec);
    return { redirect: madePath(created, 1, nowMs) };
  } catch (error) {
    if (!(error instanceof AccessError) || error.fault === 'SignedOut' || error.fault === 'Unavailable') throw error;
    return returnForm(visit, form, { faults: faultsOfRefusal(error, CONTROLS), status: STATUS[error.fault] });
  }
}

const STATUS = { Forbidden: 403, NotFound: 404, Conflict: 409, AlreadyExists: 409, Invalid: 422 } as const;

async function returnForm(visit: Visit, form: KeyForm, { faults, status }: { readonly faults: readonly FormFault[]; readonly status: number }): Promise<Answer> {
  return formPage(visit, form, { faults, status, namespaces: await visit.person.namespaces('create', 'ApiKey') });
}

/** Only where the person may create keys: what can be chosen in a namespace is nobody else's to know. */
async function formPage(
  visit: Visit, form: KeyForm, { faults, namespaces, status }: { readonly faults: readonly FormFault[]; readonly namespaces: readonly string[]; readonly status: number },
): Promise<Answer> {
  if (!(await mayCreateIn(visit, form.namespace, namespaces))) {
    const body = namespaces.length === 0 ? renderMayNotCreate(visit.deps.access.place) : renderNamespaceChoice(namespaces, `You may not create keys in ${form.namespace}.`);
    return { page: { ...PAGE, body }, status: 403 };
  }
  const groups = groupsOfNamespace(visit, form.namespace, form.group);
  const accounts = await accountsOfNamespace(visit, form.namespace);
  const only = groups.length === 1 && form.group === '' ? groups[0]?.name : undefined;
  const body = renderNewKey({ form: only === undefined ? form : { ...form, group: only }, faults, groups, accounts, namespaces, csrf: visit.csrf });
  return { page: { ...PAGE, body, scripts: ['moments.js', 'key-form.js'] }, status };
}

/** The list has the namespaces that the console knows; there may be others. */
async function mayCreateIn({ person }: Visit, namespace: string, known: readonly string[]): Promise<boolean> {
  return known.includes(namespace) || (NAMESPACE.test(namespace) && person.may('create', 'ApiKey', { namespace }));
}

const NAMESPACE = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
