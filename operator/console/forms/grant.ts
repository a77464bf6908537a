/**
 * [P] The form that gives an account credit: what was typed → a grant as the API takes it, with what is wrong at its field. A grant
 * is added to the list that the person saw; whoever has changed it meanwhile is not overwritten.
 */
import type { Account, AccountGrant } from '#crds/types.gen.ts';
import type { AccessError, ObjectChange } from '../access/access.ts';

export type GrantField = 'name' | 'usd' | 'reason';

/** As typed. */
export interface GrantForm {
  readonly name: string;
  readonly usd: string;
  readonly reason: string;
  /** Of the account as the person saw it. */
  readonly uid: string;
  readonly generation: number;
}

export interface GrantFault {
  /** undefined: the account as a whole. */
  readonly field: GrantField | undefined;
  readonly message: string;
}

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const LONGEST_NAME = 63;
const USD = /^-?([0-8]?[0-9]{1,9}([.][0-9]{1,9})?|9000000000([.]0{1,9})?)$/;
const LONGEST_REASON = 256;
const MOST_GRANTS = 1000;

export function parseGrantForm(form: URLSearchParams): GrantForm {
  const text = (name: string): string => (form.get(name) ?? '').trim();
  const generation = Number(text('generation'));
  return { name: text('name'), usd: amountOf(text('usd')), reason: text('reason'), uid: text('uid'), generation: Number.isSafeInteger(generation) ? generation : 0 };
}

/** What is typed for an account that shows no faults yet: the month, if it is free. */
export function emptyGrantForm({ metadata, spec }: Account, nowMs: number): GrantForm {
  const month = new Date(nowMs).toISOString().slice(0, 7);
  const taken = new Set((spec.grants ?? []).map(({ name }) => name));
  const name = [month, ...Array.from({ length: 8 }, (_, index) => `${month}-${index + 2}`)].find((each) => !taken.has(each)) ?? '';
  return { name, usd: '', reason: '', uid: metadata.uid ?? '', generation: metadata.generation ?? 0 };
}

/** All that is wrong with it, in the API's words where the API would refuse it. */
export function faultsOfGrant({ name, usd, reason }: GrantForm, { spec }: Account): GrantFault[] {
  const faults: GrantFault[] = [];
  const grants = spec.grants ?? [];
  if (name === '') faults.push({ field: 'name', message: 'Enter a name, such as 2026-11.' });
  else if (name.length > LONGEST_NAME) faults.push({ field: 'name', message: `may have at most ${LONGEST_NAME} characters` });
  else if (!NAME.test(name)) faults.push({ field: 'name', message: "a grant's name consists of letters, digits, '-', '_' and '.', with a letter or digit at both ends" });
  else if (grants.some((grant) => grant.name === name)) faults.push({ field: 'name', message: `There is a grant called ${name} already. Choose another name.` });
  if (usd === '') faults.push({ field: 'usd', message: 'Enter an amount, such as 250.00.' });
  else if (!USD.test(usd)) faults.push({ field: 'usd', message: 'usd must be a decimal such as "250.00" or "-10", with at most 9 digits after the point and at most 9000000000 either way' });
  if (reason.length > LONGEST_REASON) faults.push({ field: 'reason', message: `may have at most ${LONGEST_REASON} characters` });
  if (grants.length >= MOST_GRANTS) faults.push({ field: undefined, message: `The account has ${MOST_GRANTS} grants, which is the most that one can have.` });
  return faults;
}

/** The change that adds the grant. A merge patch replaces lists, so all of them go with it. */
export function grantChange({ name, usd, reason, uid, generation }: GrantForm, { spec }: Account): ObjectChange {
  const grant: AccountGrant = { name, usd, ...(reason === '' ? {} : { reason }) };
  return { uid, generation, patch: { spec: { grants: [...spec.grants ?? [], grant] } } };
}

/** What the API refuses, at the field that it speaks of. */
export function faultsOfRefusedGrant(error: AccessError): GrantFault[] {
  if (error.fields.length === 0) return [{ field: undefined, message: error.message }];
  return error.fields.map(({ path, message }) => {
    const [, field = ''] = /^spec\.grants(?:\[[^\]]*\])?\.?(.*)$/.exec(path) ?? [];
    const known = (['name', 'usd', 'reason'] as const).find((each) => each === field);
    return known ? { field: known, message } : { field: undefined, message: path === '' || message.startsWith(path) ? message : `${path}: ${message}` };
  });
}

/** Without what people write around amounts: a currency sign, thousands apart. */
function amountOf(typed: string): string {
  return typed.replace(/^([-−]?)\s*\$\s*/, '$1').replace('−', '-').replace(/(?<=\d)[,\s](?=\d{3}(?:\D|$))/g, '');
}
