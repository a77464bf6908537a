#!/usr/bin/env node
/** Where every process of the gateway begins. The command line is in main.ts, loaded once compiled modules are being kept. */
import { cacheCompiledModules } from './compile-cache.ts';

cacheCompiledModules();
const { main } = await import('./main.ts');
process.exitCode = await main(process.argv);
