#!/usr/bin/env node
/**
 * The program's first file. It is plain JavaScript that Node 20 parses too, so that an older Node is told what to use.
 * Compiled modules are kept from one start to the next in node_modules: only who can change the code can write there.
 */
const NEEDED = 26;

if (Number.parseInt(process.versions.node, 10) < NEEDED) {
  process.stderr.write(
    `Model Gateway runs on Node ${NEEDED} or newer, and this is ${process.version}. ` +
      'npm install has put the right one beside it: node_modules/.bin/node bin/mgw.js\n',
  );
  process.exitCode = 1;
} else {
  const { enableCompileCache } = await import('node:module');
  process.env.NODE_COMPILE_CACHE ??= `${import.meta.dirname}/../node_modules/.cache/compiled`; // threads look there
  enableCompileCache();
  const { main } = await import('./main.ts');
  process.exitCode = await main(process.argv);
}
