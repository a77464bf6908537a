#!/usr/bin/env -S node --max-semi-space-size=64 --min-semi-space-size=64
/**
 * Where every process of the gateway begins. The command line is in main.ts, loaded once compiled modules are being kept. A large
 * young generation is collected seldom, when most calls have left it: a seventh of a call's CPU time (docs/design/performance.md).
 */
import { cacheCompiledModules } from './compile-cache.js';

cacheCompiledModules();
const { main } = await import('./main.ts');
process.exitCode = await main(process.argv);
