/** All fuzzers by name. */
import type { Fuzzer } from './fuzzer.ts';
import { httpFuzzer } from './http.ts';

export const FUZZERS: ReadonlyMap<string, Fuzzer> = new Map([httpFuzzer].map((fuzzer) => [fuzzer.name, fuzzer]));
