#!/bin/bash
# Runs statically linked tests on an emulated CPU with AMX: README.md lists the requirements.
#
#   tools/amx/run_emulated.sh --bochs=DIR --kernel=VMLINUZ TEST… [-- ARGUMENT…]
#
# Prints the output of the tests; exits with 0 if all of them pass.
set -euo pipefail

bochs= kernel= tests=()
while (($#)); do
  case "$1" in
    --bochs=*) bochs="$(realpath "${1#*=}")" ;;
    --kernel=*) kernel="$(realpath "${1#*=}")" ;;
    --) shift; break ;;
    *) tests+=("$1") ;;
  esac
  shift
done
if [[ ! -x "$bochs/bochs" || ! -f "$kernel" || ${#tests[@]} == 0 ]]; then
  sed -n '4s/^# *//p' "$0" >&2
  exit 2
fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/ram/"{bin,proc,tmp,tests} "$work/iso/isolinux"
cp /bin/busybox "$work/ram/bin/"
for test in "${tests[@]}"; do cp -L "$test" "$work/ram/tests/"; done
cat > "$work/ram/init" <<INIT
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t tmpfs tmp /tmp
failed=0
for test in /tests/*; do
  \$test --gtest_color=no $(printf ' %q' "$@") || failed=\$((failed + 1))
done
echo "tests that failed: \$failed"
/bin/busybox sleep 2 # What is written goes out.
/bin/busybox poweroff -f
INIT
chmod +x "$work/ram/init"
(cd "$work/ram" && find . | cpio --quiet -o -H newc | gzip -1) > "$work/iso/initrd.gz"
cp "$kernel" "$work/iso/vmlinuz"
cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$work/iso/isolinux/"
cat > "$work/iso/isolinux/isolinux.cfg" <<CFG
default linux
label linux
kernel /vmlinuz
append initrd=/initrd.gz console=ttyS0,115200 quiet mitigations=off nokaslr hpet=disable tsc=reliable panic=1
CFG
xorriso -as mkisofs -quiet -o "$work/boot.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat \
  -no-emul-boot -boot-load-size 4 -boot-info-table "$work/iso" 2> "$work/xorriso.log"
cat > "$work/bochsrc" <<RC
cpu: model=sapphire_rapids, count=1, ips=50000000, ignore_bad_msrs=1
memory: guest=2048, host=2048
romimage: file=$bochs/bios/BIOS-bochs-latest
vgaromimage: file=$bochs/bios/VGABIOS-lgpl/VGABIOS-lgpl-latest.bin
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=$work/boot.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=$work/serial.txt
display_library: nogui
clock: sync=none
log: $work/bochs.log
panic: action=fatal
error: action=ignore
RC
"$bochs/bochs" -q -f "$work/bochsrc" < /dev/null > "$work/bochs.out" 2>&1 || true
cat "$work/serial.txt"
grep -q '^tests that failed: 0' "$work/serial.txt"
