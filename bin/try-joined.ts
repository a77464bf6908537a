/** `node bin/try-joined.ts PATH COMPILED …`: runs a joined program before it counts, and leaves the code that this compiled. */
import { writeFileSync } from 'node:fs';
import { cacheCompiledModules } from './compile-cache.js';
import { tryJoined } from './joined.js';

const [node = '', self = '', path = '', compiled = '', ...args] = process.argv;
cacheCompiledModules();
const { main } = tryJoined(path, (code) => writeFileSync(compiled, code));
process.exitCode = await main([node, self, ...args]);
