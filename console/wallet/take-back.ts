/** Taking credit back from an account: a form, and a confirmation that adds a grant with a negative amount. */
import { Type } from 'typebox';
import type { Account } from '#crds/types.gen.ts';
import { AccessError } from '../access/access.ts';
import { formText, OBJECT } from '../request-schema.ts';
import { route } from '../route.ts';
import type { HandlerResult, ConsoleRoute, PageRequest } from '../route.ts';
import {
  emptyGrantForm,
  errorsOfRefusedGrant,
  GRANT_FORM,
  grantChange,
  grantOf,
  parseGrantForm,
  validateGrant,
} from './grants.ts';
import type { GrantError, GrantForm } from './grants.ts';
import { renderTakeBackConfirmation, renderTakeBackForm } from './take-back-forms.ts';
import type { TakeBackView } from './take-back-forms.ts';
import { accountPath } from '../paths.ts';

const PATH = '/wallet/:namespace/:name/take-back';

const TAKE_BACK_FORM = Type.Object({
  ...GRANT_FORM.properties,
  /** "true": the person has seen the confirmation. */
  confirmed: formText(),
});

type AccountRequest = PageRequest<{ readonly params: typeof OBJECT }>;
type TakeBackRequest = AccountRequest & PageRequest<{ readonly form: typeof TAKE_BACK_FORM }>;

export const takeBackRoutes: readonly ConsoleRoute[] = [
  route({ method: 'GET', path: PATH, params: OBJECT, handle: showForm }),
  route({ method: 'POST', path: PATH, params: OBJECT, form: TAKE_BACK_FORM, handle: takeBack }),
];

const PAGE = { title: 'Take credit back · Wallet', active: 'wallet', styles: ['wallet.css'] } as const;
const CHANGED_MEANWHILE =
  'Somebody else has changed this account meanwhile; the balance is shown as it is now. Take ' +
  'the credit back if it is still right.';

async function showForm(request: AccountRequest): Promise<HandlerResult> {
  const account = await readAccount(request);
  return formPage(request, account, { form: emptyGrantForm(account, request.nowMs), errors: [], status: 200 });
}

/** The account, for who may change it. @throws AccessError */
async function readAccount({ person, params: ref }: AccountRequest): Promise<Account> {
  const account = await person.get('Account', ref);
  if (!account) throw new AccessError('NotFound', 'There is no such account.');
  if (!(await person.may('patch', 'Account', ref)))
    throw new AccessError('Forbidden', 'You may not change this account, so you cannot take its credit back.');
  return account;
}

function formPage(
  { csrf }: AccountRequest,
  account: Account,
  { status, ...view }: Pick<TakeBackView, 'form' | 'errors'> & { readonly status: number },
): HandlerResult {
  return { page: { ...PAGE, body: renderTakeBackForm({ account, csrf, ...view }) }, status };
}

async function takeBack(request: TakeBackRequest): Promise<HandlerResult> {
  const account = await readAccount(request);
  const form = parseGrantForm(request.form);
  const errors = faultsOf(form, account);
  if (errors.length > 0) return formPage(request, account, { form, errors, status: 422 });
  if (form.uid !== account.metadata.uid) return changedMeanwhile(request, account, form);
  if (request.form.confirmed !== 'true') {
    const body = renderTakeBackConfirmation({ account, form, errors: [], csrf: request.csrf });
    return { page: { ...PAGE, body } };
  }
  return change(request, account, form);
}

/** The amount has no sign here: it says how much is taken. */
function faultsOf(form: GrantForm, account: Account): GrantError[] {
  const errors = validateGrant(form, account);
  if (/^-|^0+([.]0+)?$/.test(form.usd) && !errors.some(({ field }) => field === 'usd'))
    errors.push({ field: 'usd', message: 'Enter how much is taken back, such as 10.00.' });
  return errors;
}

async function change(request: TakeBackRequest, account: Account, form: GrantForm): Promise<HandlerResult> {
  const { person, nowMs } = request;
  const grant = grantOf({ ...form, usd: `-${form.usd}` }, { grantedBy: person.person.name, nowMs });
  try {
    await person.change('Account', account.metadata, grantChange(form, grant, account));
  } catch (error) {
    if (!(error instanceof AccessError) || (error.reason !== 'Invalid' && error.reason !== 'Conflict')) throw error;
    if (error.reason === 'Invalid')
      return formPage(request, account, { form, errors: errorsOfRefusedGrant(error), status: 422 });
    return changedMeanwhile(request, await readAccount(request), form);
  }
  return { redirect: accountPath(account.metadata, undefined, { granted: form.name }) };
}

function changedMeanwhile(request: AccountRequest, account: Account, form: GrantForm): HandlerResult {
  const { uid, generation, name } = emptyGrantForm(account, request.nowMs);
  return formPage(request, account, {
    form: { ...form, uid, generation, name },
    errors: [{ field: undefined, message: CHANGED_MEANWHILE }],
    status: 409,
  });
}
