/**
 * The money that a session holds: renewed before it is used up, one step after the other. Each step records what the
 * session has cost so far, so that a process that dies is billed for exactly that.
 */
import type { GatewayError } from '../../errors.ts';
import { admitInForce, moneyLimits } from '../admit.ts';
import type { Admitted, PipelineDeps } from '../context.ts';
import { originOf } from '../origin.ts';
import { fundsUnder, outOfMoney } from '../out-of-money.ts';
import { NO_TOKENS_LOAD } from '../../ledger/load.ts';
import type { AdmitResult, ShortHold } from '../../ledger/ledger.ts';
import type { SessionBill } from './session-bill.ts';

export class SessionHold {
  readonly #deps: PipelineDeps;
  readonly #admitted: Admitted;
  readonly #bill: Pick<SessionBill, 'neededNanoUsd' | 'progress'>;
  #heldNanoUsd: bigint;
  #last: Promise<void> = Promise.resolve();

  constructor(deps: PipelineDeps, admitted: Admitted, bill: Pick<SessionBill, 'neededNanoUsd' | 'progress'>) {
    this.#deps = deps;
    this.#admitted = admitted;
    this.#bill = bill;
    this.#heldNanoUsd = admitted.heldNanoUsd;
  }

  /**
   * Holds what is needed now, unless as much is held already. Rejects with GatewayError if there is too little money, or
   * the key is no longer accepted; and with LedgerUnavailable.
   */
  cover(): Promise<void> {
    return this.#bill.neededNanoUsd <= this.#heldNanoUsd && !this.#isRenewing ? Promise.resolve() : this.#next(false);
  }

  /** Records what was spent, and holds no more than is needed. Rejects as `cover` does. */
  record(): Promise<void> {
    return this.#next(true);
  }

  #steps = 0;

  get #isRenewing(): boolean {
    return this.#steps > 0;
  }

  async #next(always: boolean): Promise<void> {
    this.#steps++;
    const step = this.#last.catch(() => undefined).then(() => this.#renew(always));
    this.#last = step;
    try {
      await step;
    } finally {
      this.#steps--;
    }
  }

  async #renew(always: boolean): Promise<void> {
    const needed = this.#bill.neededNanoUsd;
    if (!always && needed <= this.#heldNanoUsd) return;
    const result = await admitInForce(() => this.#admit(needed));
    if (result.outcome === 'Short') throw this.#shortage(result, needed);
    if (result.outcome === 'Full') throw new Error('a hold without limits of calls is never full');
    this.#heldNanoUsd = result.heldNanoUsd;
  }

  #admit(amountNanoUsd: bigint): Promise<AdmitResult> {
    const { routed, candidate } = this.#admitted;
    return this.#deps.ledger.admit({
      origin: originOf(routed, candidate),
      limits: moneyLimits(this.#deps, routed),
      load: NO_TOKENS_LOAD,
      amountNanoUsd,
      minimumNanoUsd: amountNanoUsd,
      progress: this.#bill.progress,
    });
  }

  #shortage(short: ShortHold, neededNanoUsd: bigint): GatewayError {
    const { key } = this.#admitted.routed;
    return outOfMoney(fundsUnder(this.#deps, key, short), {
      costNanoUsd: neededNanoUsd,
      neededNanoUsd,
      freeNanoUsd: short.availableNanoUsd,
      fittingOutput: undefined,
      thinkingBudget: undefined,
    });
  }
}
