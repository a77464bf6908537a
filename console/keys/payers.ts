/** [P] The accounts that a new key can spend from, and the form's initial account and group. */
import type { Account } from '#crds/types.gen.ts';
import { compareText } from '#web/compare-text.ts';
import { accountFacts } from '../queries/account-facts.ts';
import type { GroupChoice } from '../queries/group-choices.ts';
import type { LastChoice } from '../session/last-choice.ts';

/** An account that can pay. */
export interface Payer {
  readonly namespace: string;
  readonly name: string;
  readonly balanceNanoUsd: bigint;
}

/** Those of the namespaces, by namespace and name. */
export function payersOf(accounts: readonly Account[], namespaces: readonly string[]): Payer[] {
  const within = new Set(namespaces);
  return accounts
    .filter(({ metadata }) => within.has(metadata.namespace))
    .map((account) => ({
      namespace: account.metadata.namespace,
      name: account.metadata.name,
      balanceNanoUsd: accountFacts(account, 0).balanceNanoUsd,
    }))
    .sort((a, b) => compareText(idOf(a), idOf(b)));
}

/**
 * The only one, or that of the last key that the person created. An account of the gateway's own namespace is chosen
 * only where there is no other at all.
 */
export function defaultPayer(
  payers: readonly Payer[],
  last: LastChoice | undefined,
  gatewayNamespace: string,
): Payer | undefined {
  const others = payers.filter(({ namespace }) => namespace !== gatewayNamespace);
  const candidates = others.length === 0 ? payers : others;
  if (candidates.length === 1) return candidates[0];
  return candidates.find(({ namespace, name }) => namespace === last?.namespace && name === last.account);
}

/**
 * That of the last key that the person created, or the one with the most models; of several an automatic one, then the
 * cheapest.
 */
export function defaultGroup(groups: readonly GroupChoice[], last: LastChoice | undefined): GroupChoice | undefined {
  const own = groups.find(({ name }) => name === last?.group);
  if (own) return own;
  return groups.toSorted(
    (a, b) => b.models.length - a.models.length || Number(b.automatic) - Number(a.automatic) || ratioOf(a) - ratioOf(b),
  )[0];
}

export function idOf({ namespace, name }: Pick<Payer, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** A number for comparisons only. */
function ratioOf({ ratio }: GroupChoice): number {
  return Number.parseFloat(ratio);
}
