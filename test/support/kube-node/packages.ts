/** The distribution's packages that a node needs; installed where possible, as by need(). */
import { delimiter, join } from 'node:path';
import { installPackages, isExecutable } from '../needs.ts';

export const CNI_FOLDER = '/usr/lib/cni';
/** Debian's package of each program. */
const PROGRAMS: Readonly<Record<string, string>> = {
  containerd: 'containerd',
  runc: 'runc',
  ptp: 'containernetworking-plugins',
  conntrack: 'conntrack',
  iptables: 'iptables',
  ip: 'iproute2',
  ipset: 'ipset',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  sysctl: 'procps',
};

/** Returns undefined if all are present, else what is missing. */
export async function needNodePackages(): Promise<string | undefined> {
  const lacking = await lackingPackages();
  if (lacking.length === 0) return undefined;
  const failure = await installPackages(lacking);
  const still = failure === undefined ? await lackingPackages() : lacking;
  return still.length === 0
    ? undefined
    : `install the packages ${still.join(' ')}${failure === undefined ? '' : ` (${failure})`}`;
}

async function lackingPackages(): Promise<string[]> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), CNI_FOLDER];
  const lacking = await Promise.all(
    Object.entries(PROGRAMS).map(async ([program, debianPackage]) => {
      const found = await Promise.all(folders.map((folder) => isExecutable(join(folder, program))));
      return found.some(Boolean) ? [] : [debianPackage];
    }),
  );
  return [...new Set(lacking.flat())];
}
