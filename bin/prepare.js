/**
 * What npm runs at the end of an installation: joins the program's modules for the next starts (join-sources.ts). An installation is
 * complete without it, so that nothing that goes wrong here fails one; with --fixed, for an image, it does. No types to take out, and
 * nothing younger than Node 20: npm may run it with that one.
 */
const NEEDED = 26;
const fixed = process.argv.includes('--fixed');

if (Number.parseInt(process.versions.node, 10) < NEEDED) {
  say(`this is Node ${process.versions.node}`);
} else {
  try {
    const { joinSources } = await import('./join-sources.ts');
    process.stdout.write(`starts load ${await joinSources({ fixed })} modules of the program at once\n`);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}

function say(why) {
  process.stderr.write(`starts load the program's modules one by one, because joining them failed: ${why}\n`);
  if (fixed) process.exitCode = 1;
}
