/**
 * Finished calls by what they have in common, so that what is the same for all of them is worked out once: series of metrics, and
 * the text of log lines. Few calls of a model and group are of different kinds, and comparing fields costs less than a text of all
 * of them to look up by.
 */
import type { AttemptReport, CallReport } from './call-report.ts';

/** So many are remembered; with more of them the look-ups begin anew. */
const MOST = 50_000;

/** Values by two texts, each made when it is first asked for. */
export class Pairs<First extends string | undefined, Second extends string | undefined, Value> {
  readonly #make: (first: First, second: Second) => Value;
  readonly #known = new Map<First, Map<Second, Value>>();
  #count = 0;

  constructor(make: (first: First, second: Second) => Value) {
    this.#make = make;
  }

  find(first: First, second: Second): Value {
    return this.#known.get(first)?.get(second) ?? this.#add(first, second);
  }

  #add(first: First, second: Second): Value {
    if (++this.#count > MOST) {
      this.#known.clear();
      this.#count = 1;
    }
    const value = this.#make(first, second);
    const known = this.#known.get(first);
    if (known) known.set(second, value);
    else this.#known.set(first, new Map([[second, value]]));
    return value;
  }
}

/** What a kind of calls is made of; of its model and group. */
export interface CallKind {
  isOf(report: CallReport): boolean;
}

/** The kinds that came so far. */
export class CallKinds<Kind extends CallKind> {
  readonly #make: (report: CallReport) => Kind;
  #known = newLists<Kind>();
  #count = 0;

  constructor(make: (report: CallReport) => Kind) {
    this.#make = make;
  }

  find(report: CallReport): Kind {
    for (const kind of this.#known.find(report.model, report.group)) if (kind.isOf(report)) return kind;
    return this.#add(report);
  }

  #add(report: CallReport): Kind {
    if (++this.#count > MOST) {
      this.#known = newLists();
      this.#count = 1;
    }
    const kind = this.#make(report);
    this.#known.find(report.model, report.group).push(kind);
    return kind;
  }
}

function newLists<Kind>(): Pairs<string | undefined, string | undefined, Kind[]> {
  return new Pairs(() => []);
}

/** By what calls of a model and group are told apart. */
export interface Likeness extends Pick<CallReport, 'endpoint' | 'dialect' | 'stream' | 'httpStatus' | 'errorCode'> {
  readonly status: string | undefined;
  readonly usageSource: string | undefined;
  /** Of the last attempt. */
  readonly protocol: AttemptReport['protocol'] | undefined;
}

export function likenessOf(report: CallReport): Likeness {
  const { endpoint, dialect, stream, httpStatus, errorCode, billing } = report;
  return { endpoint, dialect, stream, httpStatus, errorCode, status: billing?.status, usageSource: billing?.usageSource, protocol: protocolOf(report) };
}

export function isLike(like: Likeness, report: CallReport): boolean {
  const { endpoint, dialect, stream, httpStatus, errorCode } = like;
  return report.httpStatus === httpStatus && report.endpoint === endpoint && report.dialect === dialect && report.stream === stream
    && report.errorCode === errorCode && isBilledLike(like, report);
}

function isBilledLike({ status, usageSource, protocol }: Likeness, report: CallReport): boolean {
  return report.billing?.status === status && report.billing?.usageSource === usageSource && protocolOf(report) === protocol;
}

function protocolOf({ attempts }: CallReport): AttemptReport['protocol'] | undefined {
  return attempts[attempts.length - 1]?.protocol;
}
