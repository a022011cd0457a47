@echo off
rem Put this file into the folder that opens with Win+R, shell:sendto. Then: select the frames of a
rem stack, right button, Send to, varfocus-fuse. The picture goes into "fused" beside the frames.
if "%~1"=="" (
    echo No files are selected.
    pause
    exit /b 2
)
varfocus fuse --by-name %* -o "%~dp1fused"
if errorlevel 1 pause
