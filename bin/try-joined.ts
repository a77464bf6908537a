/** `node bin/try-joined.ts PATH COMPILED …`: runs a joined program before it counts, and leaves the code that this compiled. */
import { writeFileSync } from 'node:fs';
import { cacheCompiledModules } from './compile-cache.js';
import { loadJoined } from './joined.js';

const [node = '', self = '', path = '', compiled = '', ...args] = process.argv;
cacheCompiledModules();
const joined = loadJoined({ path, keepCompiled: (code) => writeFileSync(compiled, code, { flush: true }) });
if (joined) process.exitCode = await joined.main([node, self, ...args]);
