// Bundle the scripts and styles of the pages into the given folder: app.js (small), the charts (loaded only where needed), app.css.
import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const target = process.argv[2];
rmSync(target, { recursive: true, force: true });
await build({
  entryPoints: ["app.js", "theme.js", "app.css"],
  outdir: target,
  bundle: true,
  minify: true,
  splitting: true,
  format: "esm",
  target: ["chrome123", "firefox120", "safari17.5"],
  chunkNames: "[name]-[hash]",
  legalComments: "none",
});
cpSync("icon.svg", `${target}/icon.svg`);

// The bundle ships the licenses of the packages in it.
const packages = ["echarts", "htmx.org", "tslib", "zrender"];
const texts = packages.map((name) => {
  const folder = `node_modules/${name}`;
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  return `${name} ${JSON.parse(readFileSync(`${folder}/package.json`)).version}\n\n${readFileSync(`${folder}/${file}`)}`;
});
writeFileSync(`${target}/licenses.txt`, texts.join(`\n\n${"-".repeat(80)}\n\n`));

// What `trainfare sbom` lists.
const locked = JSON.parse(readFileSync("package-lock.json")).packages;
const components = packages.map((name) => {
  const { version, license, integrity } = locked[`node_modules/${name}`];
  return { name, version, license, sha512: integrity };
});
writeFileSync(`${target}/components.json`, JSON.stringify(components, null, 2) + "\n");

// Pages add this version to the URLs of these files, so that browsers never use an old one.
const digest = createHash("sha256");
for (const name of ["app.js", "theme.js", "app.css"]) digest.update(readFileSync(`${target}/${name}`));
writeFileSync(`${target}/version.txt`, digest.digest("hex").slice(0, 12) + "\n");
