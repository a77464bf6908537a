/**
 * The client of one bucket. All operations of one turn of the event loop are sent as one batch, which the script
 * executes completely or not at all. The bucket is open while the server answers in this process's epoch and still has
 * the acknowledged data. Otherwise the bucket refuses operations, finds out what the store lost, and restores what this
 * process knows (docs/design/valkey.md, "Epochs").
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerUnavailable } from '#ledger/spending.ts';
import type { ValkeyConnection } from './connection.ts';
import type { Epoch, RestoreResult, RestoreReason, RestorePlan } from './epoch.ts';
import { encodeBatch } from './operations.ts';
import type { BatchHead, Operation } from './operations.ts';
import { parseReplies, OutcomeUnknown } from './replies.ts';
import type { Reply } from './replies.ts';

export interface BucketSettings {
  /** Identifies this process. */
  readonly instance: string;
  /** An instance that is silent for this long is dead: others settle its holds, and its slots expire. */
  readonly leaseMs: number;
  /** How long records and the ids of settled calls are kept. */
  readonly keepMs: number;
  readonly records: number;
  /** For how long the store refuses older generations of limits after it has seen a newer one. */
  readonly generationMs: number;
  /** Older generations with equal limits are accepted: see ValkeyLedgerOptions.ownGenerations. */
  readonly lenient: boolean;
  /** How long a store that lost data waits for all processes to restore theirs. */
  readonly refillMs: number;
  /** An operation is refused if it is not answered within this time. */
  readonly timeoutMs: number;
  /** Undefined: the server's clock. */
  readonly clock: (() => number) | undefined;
}

export interface BucketDeps {
  readonly connection: ValkeyConnection;
  /** The prefix of the bucket's keys. */
  readonly base: string;
  readonly settings: BucketSettings;
  /**
   * Returns operations that restore what this process knows and the store may have lost. `previous` is the start of the
   * previous epoch.
   */
  readonly collectRestores: (reason: RestoreReason, epoch: Epoch, previous: number) => Promise<RestorePlan>;
  /** Called with the reply of each restored settlement, which is now a change of this epoch. */
  readonly onRestored: (operation: Operation, reply: Reply) => void;
  /** Called with the names of values that the store had lost and has put back. */
  readonly onLost: (names: readonly string[]) => void;
  /** The start of the latest epoch that this process took part in; 0: none. */
  readonly latestStart: () => number;
  readonly onRejoined: (rejoined: RestoreResult) => void;
  readonly onState: (state: 'Open' | 'Refilling' | 'Down', reason: string) => void;
}

/** Why the script refused a batch, with the reason for operators. */
const REFUSALS = {
  empty: 'the store is empty',
  lost: 'the store has lost what it acknowledged',
  epoch: 'the store has begun anew',
  refilling: 'the store is being filled again',
} as const;
type Refusal = keyof typeof REFUSALS;

interface Request {
  readonly operation: Operation;
  /** The operation is sent again until it is answered; others are refused at their timeout. */
  readonly untilAnswered: boolean;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: LedgerUnavailable) => void;
  /** Called when the operation has been handed to the connection. */
  readonly onSent: (() => void) | undefined;
  /** The order of submission, in which repeated operations are queued. */
  readonly number: number;
  sent: boolean;
  done: boolean;
  timer: NodeJS.Timeout | undefined;
}

const MAX_BATCH_OPERATIONS = 64;
/** While this many batches are in flight, further operations are queued. */
const MAX_BATCHES = 2;
/** The first delay is short: when a process starts, its connection is usually there within milliseconds. */
const RETRY_MS = { first: 5, most: 100 };
/** A timer that fires this late shows that this process was suspended. */
const STALL_MS = 25;
/** The time in which every running process notices that the store is empty. */
const NOTICE_MS = 1_500;
/** A margin after the end of a refill, because the store's clock counts whole milliseconds. */
const REFILLED_MS = 20;
const RESTORED = new Set(['adopted', 'refilled']);
const NO_REPLY: Reply = { is: 'error', message: 'there is no reply' };

export class Bucket {
  readonly #deps: BucketDeps;
  #queue: Request[] = [];
  #batches: (readonly Request[])[] = [];
  #state: 'Open' | 'Refilling' | 'Down' | 'Closed' = 'Down';
  #reason = 'the server has not been reached yet';
  #recovering = false;
  #scheduled = false;
  #epoch = '';
  /** The number of the latest batch; `#acked` is the latest acknowledged one. */
  #seq = 0;
  #acked = 0;
  #submitted = 0;
  #hasWaited = false;
  /** The epoch that the script reported last. */
  #reported = { id: '', mode: '', remainingMs: 0, start: 0, previous: 0 };

  constructor(deps: BucketDeps) {
    this.#deps = deps;
  }

  get open(): boolean {
    return this.#state === 'Open';
  }

  /** Why the bucket is not open, for operators. */
  get reason(): string {
    return this.#reason;
  }

  get hasWork(): boolean {
    return this.#queue.length + this.#batches.length > 0;
  }

  start(): void {
    this.#recover(this.#reason);
  }

  /** Rejects with LedgerUnavailable at the timeout, or with OutcomeUnknown if the operation may have been executed. */
  execute(operation: Operation): Promise<Reply> {
    return this.#submit(operation, false);
  }

  /** Sends the operation until it is answered. Rejects only if the script fails or at `close`. */
  executeUntilAnswered(operation: Operation): Promise<Reply> {
    return this.#submit(operation, true);
  }

  /**
   * Resolves when the operation has been handed to the connection; it is then executed like executeUntilAnswered.
   * Rejects with LedgerUnavailable at the timeout: the operation is then never sent.
   */
  send(operation: Operation): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#submit(operation, true, resolve).catch(reject);
    return promise;
  }

  /** Refuses all operations without a reply, and ignores later replies. */
  close(): void {
    this.#state = 'Closed';
    this.#reason = 'the ledger is closed';
    for (const request of [...this.#batches.splice(0).flat(), ...this.#queue.splice(0)]) this.#refuse(request);
  }

  /** With `onSent`, refuses an operation that is not sent within the timeout. */
  #submit(operation: Operation, untilAnswered: boolean, onSent?: () => void): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const state = { sent: false, done: false, timer: undefined, number: ++this.#submitted };
      const sent = (): void => {
        clearTimeout(request.timer);
        onSent?.();
      };
      const request: Request = { operation, untilAnswered, resolve, reject, onSent: onSent && sent, ...state };
      if (untilAnswered && !onSent ? this.#state === 'Closed' : this.#state !== 'Open') return this.#refuse(request);
      if (!untilAnswered || onSent) this.#startTimeout(request, this.#deps.settings.timeoutMs);
      this.#queue.push(request);
      this.#schedule();
    });
  }

  /** Starts a timeout that ignores time in suspension. A reply that has already arrived is read first. */
  #startTimeout(request: Request, ms: number): void {
    const dueMs = performance.now() + ms;
    request.timer = setTimeout(() => {
      const lateMs = performance.now() - dueMs;
      if (lateMs > STALL_MS) this.#startTimeout(request, lateMs);
      else setImmediate(() => this.#expire(request));
    }, ms).unref();
  }

  #expire(request: Request): void {
    if (request.done) return;
    finish(request, () => request.reject(refusal(request, 'the ledger does not answer')));
    this.#recover('the server does not answer in time');
  }

  #schedule(): void {
    if (this.#scheduled || !this.#canSend()) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#canSend()) void this.#send(this.#queue.splice(0, MAX_BATCH_OPERATIONS));
    });
  }

  #canSend(): boolean {
    return this.#state === 'Open' && this.#batches.length < MAX_BATCHES && this.#queue.length > 0;
  }

  async #send(taken: readonly Request[]): Promise<void> {
    const batch = taken.filter(({ done }) => !done);
    if (batch.length === 0) return;
    this.#batches.push(batch);
    let replies: readonly Reply[] | string;
    try {
      const running = this.#run(
        '',
        batch.map(({ operation }) => operation),
      );
      for (const request of batch) request.sent = true;
      this.#reportSent(batch, running);
      const answer = await running;
      replies = typeof answer === 'string' ? REFUSALS[answer] : answer;
    } catch (error) {
      replies = messageOf(error);
    }
    // close() has refused it
    if (!this.#batches.includes(batch)) return;
    this.#batches = this.#batches.filter((other) => other !== batch);
    if (typeof replies === 'string') this.#failed(batch, replies);
    else for (const [index, request] of batch.entries()) answerRequest(request, replies[index + 1]);
    this.#schedule();
  }

  /** Waits one turn, after which a connection that is down has rejected the batch. */
  #reportSent(batch: readonly Request[], running: Promise<unknown>): void {
    const waiting = batch.filter(({ onSent }) => onSent !== undefined);
    if (waiting.length === 0) return;
    let failed = false;
    running.catch(() => {
      failed = true;
    });
    setImmediate(() => {
      if (!failed) for (const { onSent } of waiting) onSent?.();
    });
  }

  #failed(batch: readonly Request[], reason: string): void {
    // set the reason first, because the refusals contain it
    this.#recover(reason);
    for (const request of batch) if (!request.untilAnswered) this.#refuse(request);
    this.#queue.unshift(...batch.filter(({ untilAnswered }) => untilAnswered));
    // if two batches fail, the operations of the earlier one come first
    this.#queue.sort((a, b) => a.number - b.number);
  }

  #refuse(request: Request): void {
    finish(request, () => request.reject(refusal(request, `the ledger cannot promise anything now: ${this.#reason}`)));
  }

  /** Returns all replies, the first being `ok`, or the word with which the script refused the batch. */
  async #run(mode: '' | 'refill', operations: readonly Operation[]): Promise<readonly Reply[] | Refusal> {
    const seq = ++this.#seq;
    const epoch = this.#epoch;
    const { connection, base } = this.#deps;
    const replies = parseReplies(await connection.run(base, encodeBatch(this.#head(mode, seq), operations)));
    const [{ is: word, id = '', mode: epochMode = '', remainingMs, start, previous, lost } = NO_REPLY] = replies;
    if (word === 'ok') {
      if (lost) this.#deps.onLost(lost);
      if (this.#epoch === epoch) this.#acked = Math.max(this.#acked, seq);
      return replies;
    }
    if (!isRefusal(word)) throw new Error(`the ledger's script said ${word}`);
    const starts = { start: Number(start), previous: Number(previous) };
    this.#reported = { id, mode: epochMode, remainingMs: Number(remainingMs), ...starts };
    return word;
  }

  #head(mode: BatchHead['mode'], seq: number): BatchHead {
    const { clock, instance, leaseMs, keepMs, records, generationMs, lenient } = this.#deps.settings;
    const settings = { instance, leaseMs, keepMs, records, generationMs, lenient };
    return { ...(clock && { clock: clock() }), ...settings, epoch: this.#epoch, acked: this.#acked, seq, mode };
  }

  #recover(reason: string): void {
    if (this.#state === 'Closed' || this.#recovering) return;
    this.#recovering = true;
    this.#become('Down', reason);
    this.#rejoin()
      .catch((error: unknown) => this.#become('Down', messageOf(error)))
      .finally(() => {
        this.#recovering = false;
        this.#schedule();
      });
  }

  #become(state: 'Open' | 'Refilling' | 'Down', reason: string): void {
    if (this.#state === 'Closed') return;
    this.#state = state;
    this.#reason = reason;
    this.#deps.onState(state, reason);
  }

  /** Resolves when the bucket is open or closed. */
  async #rejoin(): Promise<void> {
    const rejoining: { reason: RestoreReason | undefined } = { reason: undefined };
    for (let delayMs = RETRY_MS.first; this.#state !== 'Closed'; delayMs = Math.min(2 * delayMs, RETRY_MS.most)) {
      try {
        if (await this.#advance(rejoining)) return this.#become('Open', '');
      } catch (error) {
        this.#become('Down', messageOf(error));
        await pause(delayMs);
      }
    }
  }

  /** One step of rejoining; true if the bucket is open. */
  async #advance(rejoining: { reason: RestoreReason | undefined }): Promise<boolean> {
    switch (await this.#run(rejoining.reason ? 'refill' : '', [])) {
      case 'empty':
        if (this.#mayBeBehind()) return pause(NOTICE_MS).then(() => false);
        return this.#foundEpoch('');
      case 'lost':
        return this.#foundEpoch(this.#epoch);
      case 'epoch':
        rejoining.reason = this.#epoch === '' ? 'Start' : this.#reported.mode === 'set' ? 'Empty' : 'Lost';
        this.#epoch = this.#reported.id;
        this.#acked = 0;
        return false;
      case 'refilling':
        this.#become('Refilling', 'the store had lost something, and waits for what all processes know');
        await pause(Math.min(this.#reported.remainingMs, RETRY_MS.most * 10));
        return false;
      default:
        if (!rejoining.reason) return true;
        await this.#collectRestores(rejoining.reason);
        rejoining.reason = undefined;
        return false;
    }
  }

  /** True once, if other processes may know a later epoch than this one's journal. They then begin the next epoch. */
  #mayBeBehind(): boolean {
    const isBehind = this.#epoch === '' && !this.#hasWaited && this.#deps.latestStart() > 0;
    this.#hasWaited = true;
    return isBehind;
  }

  async #foundEpoch(after: string): Promise<false> {
    const { connection, base, settings, latestStart } = this.#deps;
    const found = { id: randomUUID(), after, refillMs: settings.refillMs, previous: latestStart() };
    await connection.run(base, encodeBatch({ ...this.#head('found', this.#seq), found }, []));
    return false;
  }

  async #collectRestores(initial: RestoreReason): Promise<void> {
    // a process that starts while an empty store is refilled restores as much as one that was running
    const beginsAnew = initial === 'Start' && this.#reported.remainingMs > 0 && this.#reported.mode === 'set';
    const reason = beginsAnew ? 'Empty' : initial;
    const { start, previous, remainingMs } = this.#reported;
    const epoch = { id: this.#epoch, start };
    const { operations, late } = await this.#deps.collectRestores(reason, epoch, previous);
    let restored = await this.#restore(operations);
    if (late.length > 0) await pause(remainingMs + REFILLED_MS);
    restored += await this.#restore(late);
    this.#deps.onRejoined({ reason, restored, epoch });
  }

  /** Resolves with the number of operations that restored something. */
  async #restore(operations: readonly Operation[]): Promise<number> {
    let restored = 0;
    for (let at = 0; at < operations.length; at += MAX_BATCH_OPERATIONS) {
      const batch = operations.slice(at, at + MAX_BATCH_OPERATIONS);
      const replies = await this.#run('refill', batch);
      if (typeof replies === 'string') throw new Error(`the store changed while it was filled: ${replies}`);
      for (const [index, operation] of batch.entries()) {
        const reply = replies[index + 1] ?? NO_REPLY;
        if (RESTORED.has(reply.is)) restored++;
        if (reply.is === 'refilled' && reply.change !== undefined) this.#deps.onRestored(operation, reply);
      }
    }
    return restored;
  }
}

function answerRequest(request: Request, reply: Reply = NO_REPLY): void {
  const { operation } = request;
  finish(request, () => {
    if (reply.is !== 'error') request.resolve(reply);
    else request.reject(new OutcomeUnknown(`the ledger's script failed at ${operation.op}: ${reply.message ?? ''}`));
  });
}

/** Only the first outcome of a request counts. */
function finish(request: Request, end: () => void): void {
  if (request.done) return;
  request.done = true;
  clearTimeout(request.timer);
  end();
}

function refusal({ sent }: Request, reason: string): LedgerUnavailable {
  return sent ? new OutcomeUnknown(reason) : new LedgerUnavailable(reason);
}

function isRefusal(word: string): word is Refusal {
  return Object.hasOwn(REFUSALS, word);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Waits without keeping the process running. */
function pause(ms: number): Promise<void> {
  return sleep(ms, undefined, { ref: false });
}
