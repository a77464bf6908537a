/** POST /wallet/NAMESPACE/ACCOUNT/grants: gives the account credit, with the person's own right to change it. */
import { AccessError } from '../access/access.ts';
import { faultsOfGrant, faultsOfRefusedGrant, grantChange, parseGrantForm } from '../forms/grant.ts';
import type { GrantForm } from '../forms/grant.ts';
import type { Answer, ConsoleRoute, Visit } from '../route.ts';
import { accountPath } from '../views/wallet-links.ts';
import { accountPage } from '../wallet/account-page.ts';
import { readScope } from '../wallet/scope.ts';
import type { Scope } from '../wallet/scope.ts';

const CHANGED_MEANWHILE = 'Somebody else has changed this account meanwhile; it is shown as it is now. Look at its grants, and grant again if it is still right.';

async function grant(visit: Visit): Promise<Answer> {
  const scope = await readScope(visit);
  const { account, ref } = scope;
  if (!account) throw new AccessError('NotFound', 'There is no such account.');
  const form = parseGrantForm(visit.form);
  const faults = faultsOfGrant(form, account);
  if (faults.length > 0) return accountPage(visit, scope, { refused: { form, faults, status: 422 } });
  try {
    await visit.person.change('Account', ref, grantChange(form, account));
  } catch (error) {
    return refused(visit, scope, { form, error });
  }
  return { redirect: accountPath(ref, undefined, { granted: form.name }) };
}

/** The form again, with what is wrong; what is no matter of the form has a page of its own. */
async function refused(visit: Visit, scope: Scope, { form, error }: { readonly form: GrantForm; readonly error: unknown }): Promise<Answer> {
  if (!(error instanceof AccessError)) throw error;
  if (error.fault === 'Invalid') return accountPage(visit, scope, { refused: { form, faults: faultsOfRefusedGrant(error), status: 422 } });
  if (error.fault !== 'Conflict') throw error;
  const now = await readScope(visit);
  const { uid = '', generation = 0 } = now.account?.metadata ?? {};
  return accountPage(visit, now, { refused: { form: { ...form, uid, generation }, faults: [{ field: undefined, message: CHANGED_MEANWHILE }], status: 409 } });
}

export const walletGrantsRoutes: readonly ConsoleRoute[] = [
  { method: 'POST', path: '/wallet/:namespace/:name/grants', handle: grant },
];
