#!/usr/bin/env -S node --max-semi-space-size=64 --min-semi-space-size=64
/**
 * Where every process of the gateway begins. The command line is in main.ts, loaded once compiled modules are being kept: it comes
 * out of the joined file where that is up to date, and is imported otherwise. A large young generation is collected seldom,
 * when most calls have left it: a seventh of a call's CPU time (docs/design/performance.md).
 */
const NEEDED = 26;

if (Number.parseInt(process.versions.node, 10) < NEEDED) {
  process.stderr.write(`Model Gateway runs on Node ${NEEDED} or newer, and this is ${process.version}. npm install has put the right one beside it: node_modules/.bin/node bin/mgw.js\n`);
  process.exitCode = 1;
} else {
  const { cacheCompiledModules } = await import('./compile-cache.js');
  cacheCompiledModules();
  const { loadJoined } = await import('./joined.js');
  const { main } = loadJoined() ?? await loadModules();
  process.exitCode = await main(process.argv);
}

async function loadModules() {
  const { resolveSourcesFast } = await import('./resolve-sources.js');
  resolveSourcesFast();
  return import('./main.ts');
}
