/**
 * `npm run fuzz -- [--minutes 10] [--seed N] [--only http,json] [--replay FILE]`: the fuzzers by hand, for as long as
 * wanted.
 */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { numberFlag, readFlags } from '../support/flags.ts';
import { decodeCases, fuzz, replay } from './fuzzer.ts';
import { FUZZERS } from './fuzzers.ts';

const HELP = 'npm run fuzz -- [--minutes 10] [--seed N] [--only http,json] [--replay FILE]';
const values = readFlags(HELP, ['minutes', 'seed', 'only', 'replay']);

if (values.replay === undefined) await runAll();
else await runAgain(values.replay);

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
