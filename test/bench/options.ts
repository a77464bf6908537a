/** The flags of `npm run bench`. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';

export interface BenchOptions {
  readonly rounds: number;
  /** Seconds of load for each case, round and target. */
  readonly seconds: number;
  /** Seconds; undefined: as long as the target needs. */
  readonly warmUp: number | undefined;
  readonly quick: boolean;
  /** A gateway with 100,000 keys and 1,000 models beside the one with a hundred and ten. */
  readonly large: boolean;
  /** A gateway with its ledger on Valkey beside the one with a file. */
  readonly valkey: boolean;
  /** A loop beside what is measured, of equal weight, so that its core is what limits. */
  readonly busy: boolean;
  /** Parts of the names of cases; none: all. */
  readonly only: readonly string[];
  /** The only case to run, on the floor and the gateway only. */
  readonly alone: string | undefined;
  /** The core of what is measured. */
  readonly core: number;
  /** The core of the mock provider and the load generator. */
  readonly loadCore: number;
  /** The port of the mock provider, which a gateway to compare with must be configured with; 0: any free port. */
  readonly mockPort: number;
  readonly compare:
    { readonly url: string; readonly key: string | undefined; readonly pid: number | undefined } | undefined;
  readonly output: string;
}

export const HELP = `npm run bench -- [options]
  --quick            fewer cases, shorter
  --only TEXT        only cases whose name contains it; may be repeated (openai-json-64, stream, anthropic, …)
  --case NAME        that case alone, on floor and gateway only: some 75 seconds
  --rounds N         rounds per case, default 5 (--quick: 3, --case: 7)
  --seconds N        of load per case, round and target, default 6 (--quick, --case: 3)
  --warm-up N        seconds of load per target and kind of call before the first round, default 15 (on Valkey: 40)
  --no-valkey        without the gateway whose ledger is on Valkey (--quick and --case: only with --valkey)
  --large            a gateway with 100,000 keys and 1,000 models, too
  --busy             a loop shares the measured core, half and half: that core is the limit then, also where load,
                     provider and Valkey need more of the other; latencies say nothing
  --compare URL      another gateway beside ours; it must lead models bench-gpt, bench-gpt-paced (OpenAI) and
                     bench-claude (Anthropic)
                     to the mock provider, and be pinned to the same core (taskset -c 1)
  --compare-key KEY  the key for it
  --compare-pid PID  its process, for CPU and memory
  --mock-port PORT   where the mock provider listens, default any free port
  --cores LOAD,CORE  cores of the load and of what is measured, default 0,1
  --output FILE      default .cache/bench/<time>.json`;

/** Throws TypeError on an unknown flag or a bad value. */
export function parseBenchOptions(args: readonly string[]): BenchOptions | 'help' {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      help: { type: 'boolean' },
      quick: { type: 'boolean', default: false },
      valkey: { type: 'boolean' },
      large: { type: 'boolean', default: false },
      busy: { type: 'boolean', default: false },
      only: {
        type: 'string',
        multiple: true,
        default: [],
      },
      case: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'warm-up': { type: 'string' },
      compare: { type: 'string' },
      'compare-key': { type: 'string' },
      'compare-pid': { type: 'string' },
      'mock-port': {
        type: 'string',
        default: '0',
      },
      cores: { type: 'string', default: '0,1' },
      output: { type: 'string' },
    },
  });
  if (values.help) return 'help';
  const [loadCore = 0, core = 1] = values.cores.split(',').map((text) => wholeNumber(text, '--cores'));
  const pid = values['compare-pid'];
  const short = values.quick || values.case !== undefined;
  const rounds = values.case !== undefined ? '7' : values.quick ? '3' : '5';
  return {
    quick: values.quick,
    valkey: values.valkey ?? !short,
    large: values.large,
    busy: values.busy,
    only: values.only,
    alone: values.case,
    core,
    loadCore,
    rounds: wholeNumber(values.rounds ?? rounds, '--rounds', 1),
    seconds: wholeNumber(values.seconds ?? (short ? '3' : '6'), '--seconds', 1),
    warmUp: values['warm-up'] === undefined ? undefined : wholeNumber(values['warm-up'], '--warm-up', 1),
    mockPort: wholeNumber(values['mock-port'], '--mock-port'),
    compare:
      values.compare === undefined
        ? undefined
        : {
            url: values.compare.replace(/\/+$/, ''),
            key: values['compare-key'],
            pid: pid === undefined ? undefined : wholeNumber(pid, '--compare-pid'),
          },
    output:
      values.output ??
      join(import.meta.dirname, '../../.cache/bench', `${new Date().toISOString().replace(/[:.]/g, '-')}.json`),
  };
}

/** Throws TypeError. */
export function wholeNumber(text: string, flag: string, least = 0): number {
  const value = Number(text);
  if (text === '' || !Number.isInteger(value)) throw new TypeError(`${flag}: ${text} is not a whole number`);
  if (value < least) throw new TypeError(`${flag}: ${text} is less than ${least}`);
  return value;
}
