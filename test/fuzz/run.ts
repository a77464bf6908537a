/**
 * `npm run fuzz -- [--minutes 10] [--seed N] [--only http,json] [--replay FILE]`: the fuzzers by hand, for as long as
 * wanted. With `--held CONNECTIONS`: the memory that compressed bodies take at every endpoint, and that responses take.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { numberFlag, readFlags } from '../support/flags.ts';
import { BOMBS, TARGETS } from './bombs.ts';
import { decodeCases, fuzz, replay } from './fuzzer.ts';
import { FUZZERS } from './fuzzers.ts';
import { KEY_STATES, measureHeld } from './held.ts';
import { attackByResponses, RESPONSE_CONTENTS, RESPONSE_ENCODINGS, RESPONSE_WAYS } from './held-responses.ts';
import { startMeasured } from './measured.ts';

const MIB = 2 ** 20;
const HELP = 'npm run fuzz -- [--minutes 10] [--seed N] [--only http,json] [--replay FILE] [--held CONNECTIONS]';
const values = readFlags(HELP, ['minutes', 'seed', 'only', 'replay', 'held']);

if (values.held !== undefined) await measureAll(numberFlag(values.held, 'held', HELP));
else if (values.replay === undefined) await runAll();
else await runAgain(values.replay);

/** Prints the memory that each encoding takes at each target and in each state of the key. */
async function measureAll(each: number): Promise<void> {
  const gateway = await startMeasured('http://127.0.0.1:9');
  for (const keyState of KEY_STATES.keys())
    for (const encoding of BOMBS.keys())
      for (const target of TARGETS) {
        const { figures } = await measureHeld(gateway, { targets: [target], encoding, keyState, each });
        console.log(`${target.join(' ')}: ${figures}`);
      }
  await gateway.stop();
  await measureResponses(each);
}

/** Prints the memory that responses take by each way to read them. */
async function measureResponses(count: number): Promise<void> {
  const attacked = await attackByResponses(64 * MIB, 256 * MIB);
  for (const way of RESPONSE_WAYS)
    for (const content of RESPONSE_CONTENTS)
      for (const encoding of RESPONSE_ENCODINGS)
        console.log((await attacked.measure({ way, content, encoding, count })).figures);
  await attacked.stop();
}

async function runAll(): Promise<void> {
  const seed = values.seed === undefined ? randomInt(2 ** 31) : numberFlag(values.seed, 'seed', HELP);
  const names = values.only?.split(',') ?? [...FUZZERS.keys()];
  const durationMs = (numberFlag(values.minutes ?? '10', 'minutes', HELP) * 60_000) / names.length;
  console.log(`seed ${seed}, ${Math.round(durationMs / 1000)} s each: ${names.join(', ')}`);
  for (const name of names) {
    const fuzzer = FUZZERS.get(name);
    if (!fuzzer) throw new Error(`no such fuzzer: ${name}. There are: ${[...FUZZERS.keys()].join(', ')}`);
    try {
      console.log(`${name}: ${await fuzz(fuzzer, { seed, durationMs })} cases without a failure`);
    } catch (error) {
      process.exitCode = 1;
      console.error(error instanceof Error ? error.message : error);
    }
  }
}

async function runAgain(file: string): Promise<void> {
  const { fuzzer: name, cases } = decodeCases(readFileSync(file, 'utf8'));
  const fuzzer = FUZZERS.get(name);
  if (!fuzzer) throw new Error(`no such fuzzer: ${name}`);
  try {
    await replay(fuzzer, cases);
    console.log(`${name}: ${cases.length} cases again, without a failure`);
  } catch (error) {
    process.exitCode = 1;
    console.error(error instanceof Error ? error.message : error);
  }
}
